/**
 * The console's style sheet: one page, light and dark, from 320 pixels to a desk's screen.
 */

export const style = `:root {
  color-scheme: light dark;
  --paper: #faf9f6;
  --sheet: #f1efe9;
  --ink: #1e1c19;
  --soft: #5d5850;
  --line: #dcd7cc;
  --edge: #857f73;
  --green: #1c5f49;
  --red: #9d2a17;
  --on: #fff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614;
    --sheet: #22201d;
    --ink: #ece8e0;
    --soft: #aaa397;
    --line: #3a3732;
    --edge: #8b8579;
    --green: #7fcaa9;
    --red: #f2937e;
    --on: #10201a;
  }
}
* { box-sizing: border-box; }
body {
  margin: auto;
  max-width: 76rem;
  padding: 0 clamp(1rem, 4vw, 2.5rem) 4rem;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif;
  font-variant-numeric: tabular-nums;
  overflow-wrap: break-word;
}
header, nav, .row, summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1.25rem; }
header { justify-content: space-between; padding: 1.5rem 0 1rem; }
a { color: var(--green); }
h1, h2, h3 { margin: 0; line-height: 1.25; font-weight: 650; }
h1, #wait-left { font-size: 1.75rem; }
h2 { font-size: 1.25rem; margin-bottom: .5rem; }
h3 { font-size: 1rem; margin: .75rem 0 .25rem; }
.row h3 { margin: 0; }
dl { margin: 0; }
p, dd, pre, .notice, table { margin: 0 0 .75rem; }
section { border-top: 1px solid var(--line); padding: 1.5rem 0 2rem; }
.hint, th, label { color: var(--soft); font-size: .875rem; }
code, pre, td.number, .secret { font: .875rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.row { align-items: end; gap: .75rem; margin-bottom: .75rem; }
#key-in-use, #pages, details .row { align-items: center; }
label { display: grid; gap: .25rem; }
.wide { flex: 1 1 10rem; }
#add-form :first-child { flex-basis: 100%; }
input, select, button {
  min-height: 2.5rem;
  width: 100%;
  padding: .375rem .75rem;
  border: 1px solid var(--edge);
  border-radius: .375rem;
  background: var(--paper);
  color: var(--ink);
  font: inherit;
  font-size: 1rem;
}
.secret { -webkit-text-security: disc; }
#limit { width: 6rem; }
button { width: auto; cursor: pointer; }
button:hover { border-color: var(--ink); }
.main { background: var(--green); border-color: var(--green); color: var(--on); }
.small { min-height: 1.75rem; padding: 0 .5rem; font-size: .875rem; }
[aria-disabled=true] { border-style: dashed; color: var(--soft); cursor: default; }
[aria-busy=true] button { cursor: progress; }
[aria-invalid=true] { border-color: var(--red); }
:focus-visible { outline: 3px solid var(--green); outline-offset: 2px; }
[hidden], #meters:not([hidden]) + p { display: none !important; }
.good { --tone: var(--green); }
.bad { --tone: var(--red); }
.notice { padding-left: .75rem; border-left: 3px solid var(--tone, var(--line)); }
.notice:empty { margin: 0; border: 0; }
span.good, span.bad { color: var(--tone); }
#access, #desk { display: grid; gap: 1rem 3rem; grid-template-columns: minmax(0, 1fr); }
#meters { display: grid; grid-template-columns: auto 1fr; align-items: baseline; }
#meters span { text-align: right; }
#meters .hint { margin-bottom: .5rem; }
#meters .hint, meter { grid-column: 1 / -1; }
meter { width: 100%; height: .5rem; appearance: none; }
meter, ::-webkit-meter-bar { border: 0; border-radius: .25rem; background: var(--line); overflow: hidden; }
::-webkit-meter-bar { height: .5rem; }
::-webkit-meter-optimum-value { background: var(--green); }
::-webkit-meter-suboptimum-value { background: var(--red); }
table { width: 100%; border-collapse: collapse; }
th, td {
  padding: .5rem 1rem .5rem 0;
  border-bottom: 1px solid var(--line);
  text-align: left;
  vertical-align: baseline;
}
.number { text-align: right; }
.name, td.number, code, pre { overflow-wrap: anywhere; }
.name { width: 45%; white-space: pre-wrap; }
p, dd, #reference table { max-width: 44rem; }
.code-point { padding: 0 .25em; border: 1px solid var(--edge); border-radius: .25rem; font-size: .75em; }
ol { list-style: none; padding: 0; }
#reference details:last-of-type { margin-bottom: 1rem; }
details { border-top: 1px solid var(--line); padding: .25rem 0; }
summary { gap: .25rem .5rem; padding: .375rem 0; cursor: pointer; }
summary::before { content: "+" / ""; }
[open] > summary::before { content: "−" / ""; }
summary code { margin-right: auto; }
pre { padding: .75rem; background: var(--sheet); border-radius: .375rem; white-space: pre-wrap; }
@media (max-width: 30rem) {
  th, td { padding-right: .5rem; font-size: .875rem; }
}
@media (min-width: 40rem) {
  td.number { white-space: nowrap; }
}
@media (min-width: 62rem) {
  #access, #desk { grid-template-columns: minmax(0, 7fr) minmax(0, 5fr); }
}
`;
