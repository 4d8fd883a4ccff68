/** The reference, drawn from the service's own description. Each operation can fill a form with its example. */

import { byId, type Child, element, fieldById, fold, requestLine, shown } from "./dom.ts";
import type { Pet } from "./exact-json.ts";
import { type Line, readInline, readMarkdown } from "./markdown.ts";
import { type ApiReference, type Description, type Listed, type Operation, readReference } from "./reference.ts";
import { jsonLines } from "./requests-view.ts";

export function showReference(description: Description): void {
  const { shared, pet, operations } = readReference(description);
  fieldById("limit").defaultValue = operations[0]?.parameters[0]?.schema?.default ?? ""; // The page size of the list.
  byId("reference-body").replaceChildren(
    fold([element("b", "Every request")], columns(...blocks(description.info.description), ...lists(shared))),
    fold([element("b", "The animal")], petElement(pet)),
    ...operations.map(operationElement),
  );
}

function petElement({ members, example }: ApiReference["pet"]): HTMLElement {
  const head = row("th", ["Member", "To add one", "Meaning"].map(readInline));
  const rows = members.map(({ name, note, text = "" }) =>
    row("td", [[{ kind: "code", text: name }], [{ kind: "span", text: note }], readInline(text)]),
  );
  return columns(element("table.stacks", element("thead", head), ...rows), exampleElement(example));
}

function operationElement(operation: Operation): HTMLElement {
  const { method, path, summary, deprecated, description, example } = operation;
  const note = deprecated === true ? element("span.bad", " deprecated") : "";
  const attempt = element("button.small", "Try");
  attempt.ariaLabel = `Try ${method} ${path}`;
  attempt.onclick = () => fillForm(operation);
  return fold(
    requestLine(method, path, ...shown(summary), note),
    columns(
      ...blocks(description),
      attempt,
      ...lists(operation.members),
      ...(example === undefined ? [] : [exampleElement(example)]),
    ),
  );
}

/** Sends nothing: the person reads, changes and sends it. */
function fillForm({ method, target, content }: Operation): void {
  if (method === "POST") {
    const { name, categoryId, status } = content as Partial<Pet>;
    fieldById("name").value = name ?? "";
    fieldById("category").value = categoryId ?? "";
    fieldById("status").value = status ?? "available";
    byId("name").focus();
  } else {
    fieldById("path").value = target;
    byId("path").focus();
  }
}

function columns(...children: readonly Child[]): HTMLElement {
  return element("div.columns", ...children);
}

function exampleElement(json: string): HTMLElement {
  return element("div", element("h3", "Example"), element("pre", ...jsonLines(json)));
}

function lists(members: readonly Listed[]): readonly HTMLElement[] {
  const titles = new Set(members.map(({ title }) => title));
  return [...titles].map((heading) => {
    const items = members.filter(({ title }) => title === heading).flatMap(({ name, note, text = "" }) => [
      element("dt", element("code", ...shown(name)), " ", element("span.hint", ...shown(note))),
      element("dd", ...line(readInline(text))),
    ]);
    return element("div", element("h3", heading), element("dl", ...items));
  });
}

function blocks(markdown = ""): readonly HTMLElement[] {
  return readMarkdown(markdown).map((block) =>
    block.kind === "table"
      ? element("table", row("th", block.head), ...block.rows.map((cells) => row("td", cells)))
      : element(block.kind, ...line(block.line)),
  );
}

function row(name: "th" | "td", cells: readonly Line[]): HTMLElement {
  return element("tr", ...cells.map((cell) => element(name, ...line(cell))));
}

function line(parts: Line): readonly Child[] {
  return parts.map(({ kind, text }) => element(kind, ...shown(text)));
}
