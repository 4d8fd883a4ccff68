/**
 * What went over the wire: the last ten requests, newest first, each with its `curl` line and its whole response.
 */

import { curlLine, methodOf } from "./curl.ts";
import { byId, element, setText, shown, shownLines, summary } from "./dom.ts";
import type { Exchange } from "./session.ts";

const exchangeCountMax = 10;

export function showExchange(exchange: Exchange): void {
  const list = byId("requests");
  list.querySelector("[open]:not(:focus-within)")?.removeAttribute("open"); // The newest is the one to read.
  list.prepend(element("li", exchangeElement(exchange)));
  list.children[exchangeCountMax]?.remove();
  byId("no-requests").hidden = true;
}

function exchangeElement({ request, response, content, ms }: Exchange): HTMLElement {
  const { pathname, search } = new URL(request.url);
  const status = response === undefined ? "no response" : `${response.status} ${response.statusText}`;
  const kind = response?.ok === true ? "good" : "bad";
  const fields = [...(response?.headers ?? [])].map(([name, value]) => `${name}: ${value}\n`);
  const line = curlLine(request);
  const curl = element("pre", line);
  const copy = element("button.small", "Copy");
  copy.onclick = () => copyText(line, curl);
  const details = element(
    "details",
    summary(methodOf(request), pathname + search, element(`span.${kind}`, ...shown(status)), ` ${ms} ms`),
    element("div.row", element("h3", "With curl"), copy),
    curl,
    element("h3", "Response"),
    element("pre", ...shownLines(`${status}\n${fields.join("")}\n`), element("span.content", ...shownLines(content))),
  );
  details.toggleAttribute("open");
  return details;
}

/** The clipboard is there only on secure pages; elsewhere the line is selected, to be copied by hand. */
async function copyText(text: string, source: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    setText("copy-notice", "Copied.");
  } catch {
    getSelection()?.selectAllChildren(source);
    setText("copy-notice", "Selected: press Ctrl+C.");
  }
}
