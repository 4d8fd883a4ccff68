/**
 * The part for programmers, which begins folded, and stays as it was left in the tab: what went over the wire in the
 * last requests, newest first. The content comes first; header fields, the raw text and the `curl` line are one press
 * away. A form sends any other GET.
 */

import { onClick, onSubmit } from "./buttons.ts";
import { curlLine } from "./call-request.ts";
import { byId, type Child, element, type Field, fold, notify, requestLine, shown, shownLines } from "./dom.ts";
import { layOutJson } from "./exact-json.ts";
import { store, stored } from "./session-storage.ts";
import { explain, type ApiCall, type Session } from "./session.ts";

const callsMax = 10;

export function startRequestsView(session: Session): void {
  const part = byId<HTMLDetailsElement>("wire");
  part.open = stored("unfolded") !== "";
  part.ontoggle = () => store("unfolded", part.open ? "yes" : "");
  byId("links").onclick = () => (part.open = true); // The links lead into it.
  onSubmit("get-form", async () => {
    const call = await session.get(byId<Field>("path").value);
    if (call.response?.ok) {
      notify("good", "Answered.");
    } else {
      explain(call);
    }
  });
}

export function showCall(call: ApiCall): void {
  const list = byId("requests");
  // Only the newest is open.
  list.querySelector(":scope > li > [open]:not(:focus-within)")?.removeAttribute("open");
  if (call.request.part !== undefined) {
    list.firstElementChild?.remove();
  }
  list.prepend(element("li", callElement(call)));
  list.children[callsMax]?.remove();
}

function callElement({ request, response, content, ms }: ApiCall): HTMLElement {
  const { pathname, search } = new URL(request.url);
  const status = response === undefined ? "no response" : `${response.status} ${response.statusText}`;
  const outcome = element(response?.ok ? "span.good" : "span.bad", element("bdi", ...shown(status)));
  const fields = [...(response?.headers ?? [])].map(([name, value]) => `${name}: ${value}`);
  const parts = request.part === undefined ? "" : `, the last of ${request.part} requests`;
  const line = curlLine(request);
  const curlText = element("pre", line);
  const curl = fold(["curl"], curlText);
  const copy = element("button.small", "Copy curl");
  onClick(copy, () => copyText(line, curlText, curl));
  const details = fold(
    requestLine(request.method, pathname + search, outcome, ` ${ms} ms${parts}`),
    ...(content === "" ? [] : [contentElement(content)]),
    element(
      "div.folds",
      fold([`${fields.length} header fields`], element("pre.fields", ...shownLines(fields.join("\n")))),
      fold(["Raw"], element("pre.content", ...shownLines(content))),
      curl,
      copy,
    ),
  );
  details.toggleAttribute("open");
  return details;
}

function contentElement(content: string): HTMLElement {
  const box = element("pre", ...jsonLines(content));
  box.role = "group";
  box.ariaLabel = "Content";
  box.tabIndex = 0; // It may be higher than its box, which the keyboard can scroll.
  return box;
}

/** Text that is no JSON stands as it is. */
export function jsonLines(text: string): readonly Child[] {
  try {
    return layOutJson(text).map(({ kind, text: piece }) =>
      kind === "mark" ? piece : element(`span.${kind}`, ...shown(piece)),
    );
  } catch {
    return shownLines(text);
  }
}

/** The clipboard is there only on secure pages; elsewhere the line is selected, to be copied by hand. */
async function copyText(text: string, source: HTMLElement, place: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify("good", "Copied.");
  } catch {
    place.setAttribute("open", "");
    getSelection()?.selectAllChildren(source);
    notify("good", "Selected: press Ctrl+C.");
  }
}
