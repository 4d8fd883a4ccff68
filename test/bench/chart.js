/**
 * The result as a small SVG: one panel for each workload and one bar for each server, as a ratio to the floor. It has no
 * background and follows the reader's light or dark theme.
 */
import { formatRatio, ratiosToFloor } from "./report.js";
import { median, processorRate } from "./rounds.js";

const width = 760;
const columnCount = 2;
const panelWidth = width / columnCount;
const barHeight = 11;
const rowHeight = 16;
const titleHeight = 30;
const panelGap = 16;
const labelWidth = 148;
const valueWidth = 46;
const barWidthMax = panelWidth - labelWidth - valueWidth;
const legendHeight = 66;

const style = `
text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 12px; fill: #1f2328 }
.ours { font-weight: 600; fill: #1f2328 }
.bar { fill: #b6bec9 }
.bar.ours { fill: #1a7f64 }
.floor { stroke: #8c959f; stroke-dasharray: 2 2 }
.goal { stroke: #bf5b04; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .title, text.ours { fill: #f0f6fc }
  .bar { fill: #4a525d }
  .bar.ours { fill: #3fb68b }
  .floor { stroke: #7d8590 }
  .goal { stroke: #f0883e }
}`;

/** @param {readonly import("./report.js").Named[]} contenders without the floor */
export function drawChart(results, contenders) {
  const panels = results.map((result) => {
    const bars = contenders
      .map(({ id, label }) => ({ id, label, ratio: median(ratiosToFloor(result, id, { value: processorRate })) }))
      .filter(({ ratio }) => !Number.isNaN(ratio));
    return { workload: result.workload, bars };
  });
  const scaleMax = Math.max(1.02, ...panels.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)));
  const parts = [];
  let y = 0;
  let lastY = 0;
  for (let first = 0; first < panels.length; first += columnCount) {
    const row = panels.slice(first, first + columnCount);
    for (const [column, panel] of row.entries()) parts.push(placed(column * panelWidth, y, draw(panel, scaleMax)));
    lastY = y;
    y += titleHeight + Math.max(...row.map(({ bars }) => bars.length)) * rowHeight + panelGap;
  }
  // The legend takes the place of the last panel where that is free.
  const isLastFree = panels.length % columnCount !== 0;
  parts.push(isLastFree ? placed(panelWidth, lastY, legend()) : placed(0, y, legend()));
  const height = isLastFree ? y : y + legendHeight;
  return `\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>Requests for a second of processor time, of a bare node:http server's, by workload</title>
<style>${style}
</style>
${parts.join("\n")}
</svg>
`;
}

function placed(x, y, content) {
  return `<g transform="translate(${x} ${y})">\n${content}\n</g>`;
}

function draw({ workload, bars }, scaleMax) {
  const at = (ratio) => round(labelWidth + (ratio / scaleMax) * barWidthMax);
  const lines = bars.map(({ id, label, ratio }, index) => {
    const y = titleHeight + index * rowHeight;
    const ours = id === "service" ? " ours" : "";
    const baseline = y + barHeight - 2;
    return [
      `<text class="label${ours}" x="${labelWidth - 6}" y="${baseline}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="bar${ours}" x="${labelWidth}" y="${y}" width="${round(at(ratio) - labelWidth)}" ` +
        `height="${barHeight}" rx="1.5"/>`,
      `<text class="value${ours}" x="${panelWidth - 14}" y="${baseline}" text-anchor="end">` +
        `${formatRatio(ratio)}</text>`,
    ].join("\n");
  });
  const bottom = titleHeight + bars.length * rowHeight - 2;
  return [
    `<text class="title" x="${labelWidth}" y="16">${escaped(workload.title)}</text>`,
    `<line class="floor" x1="${at(1)}" x2="${at(1)}" y1="${titleHeight - 5}" y2="${bottom}"/>`,
    ...lines,
    ...(workload.goal === undefined ? [] : [goalMark(at(workload.goal), bars)]),
  ].join("\n");
}

/** A tick across the service's own bar. */
function goalMark(x, bars) {
  const y = titleHeight + bars.findIndex(({ id }) => id === "service") * rowHeight;
  return `<line class="goal" x1="${x}" x2="${x}" y1="${y - 2}" y2="${y + barHeight + 2}"/>`;
}

function legend() {
  const x = labelWidth;
  return [
    `<text class="title" x="${x}" y="16">requests/processor time, longer is better</text>`,
    `<line class="floor" x1="${x + 4}" x2="${x + 4}" y1="27" y2="40"/>`,
    `<text x="${x + 14}" y="37">1.00: bare node:http, constant bytes</text>`,
    `<line class="goal" x1="${x + 4}" x2="${x + 4}" y1="45" y2="58"/>`,
    `<text x="${x + 14}" y="55">goal of the service</text>`,
  ].join("\n");
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
