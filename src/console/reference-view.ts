/**
 * The reference, drawn from the service's own description.
 */

import { byId, type Child, element, shown, summary } from "./dom.ts";
import { type Block, type Line, readInline, readMarkdown } from "./markdown.ts";
import { type Description, type Member, type Operation, readOperations } from "./reference.ts";

export function showReference(description: Description): void {
  const operations = readOperations(description).map(operationElement);
  byId("reference-body").replaceChildren(...operations, ...blocks(description.info.description));
}

function operationElement({ method, path, summary: title, deprecated, description, tables }: Operation): HTMLElement {
  return element(
    "details",
    summary(method, path, ...shown(title), element("span.bad", deprecated === true ? " deprecated" : "")),
    ...blocks(description),
    ...Object.entries(tables).flatMap(([title, members]) => (members.length === 0 ? [] : memberList(title, members))),
  );
}

function memberList(title: string, members: readonly Member[]): readonly Child[] {
  const items = members.flatMap(({ name, note, text = "" }) => [
    element("dt", element("code", ...shown(name)), " ", element("span.hint", ...shown(note))),
    element("dd", ...line(readInline(text))),
  ]);
  return [element("h3", title), element("dl", ...items)];
}

function blocks(markdown = ""): readonly HTMLElement[] {
  return readMarkdown(markdown).map(blockElement);
}

function blockElement(block: Block): HTMLElement {
  return block.kind === "table"
    ? element("table", row("th", block.head), ...block.rows.map((cells) => row("td", cells)))
    : element(block.kind, ...line(block.line));
}

function row(name: "th" | "td", cells: readonly Line[]): HTMLElement {
  return element("tr", ...cells.map((cell) => element(name, ...line(cell))));
}

function line(parts: Line): readonly Child[] {
  return parts.map(({ kind, text }) => element(kind, ...shown(text)));
}
