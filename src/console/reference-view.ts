/** The reference, drawn from the service's own description. Each operation can fill a form with its example. */

import { showMembers } from "./add-view.ts";
import { type CallRequest, curlLine } from "./call-request.ts";
import { byId, type Child, element, type Field, fold, memberFields, requestLine, shown, shownLines } from "./dom.ts";
import { parseExact } from "./exact-json.ts";
import { type Example, examples } from "./examples.ts";
import { readInline, readMarkdown } from "./markdown.ts";
import { type Description, type Listed, type Operation, readReference } from "./reference.ts";
import { jsonLines } from "./requests-view.ts";

/** @param api the address of the API */
export function showReference(description: Description, api: string): void {
  const { shared, pet, operations } = readReference(description);
  showMembers(pet);
  byId("desk").dataset["offers"] = operations.map(({ operationId }) => operationId).join(" ");
  const { default: size = "", minimum = "", maximum = "" } = operations[0]?.parameters[0]?.schema ?? {};
  Object.assign(byId<Field>("limit"), { defaultValue: size, min: minimum, max: maximum }); // The page size of the list.
  byId("reference-body").replaceChildren(
    fold([element("b", "Every request")], columns(...blocks(description.info.description), ...lists(shared))),
    fold([element("b", "The animal")], columns(...lists(pet.members), element("pre", ...jsonLines(pet.example)))),
    ...operations.map((operation) => operationElement(operation, api)),
  );
}

function operationElement(operation: Operation, api: string): HTMLElement {
  const { operationId = "", method, path, summary, deprecated, description } = operation;
  const note = deprecated ? element("span.bad", " deprecated") : "";
  const attempt = element(`button.small.${method}`, "Try");
  attempt.ariaLabel = `Try ${method} ${path}`;
  const { target, ...more }: Example = examples[operationId] ?? { target: path };
  const line = curlLine({ ...more, url: api + target, method: method as CallRequest["method"] }); // One that is shown.
  attempt.onclick = () => fillForm(method, target, more.content);
  return fold(
    requestLine(method, path, ...shown(summary), note),
    columns(
      element("div", ...blocks(description), attempt, ...lists(operation.members)),
      element("div", element("h3", "curl"), element("pre", line)),
    ),
  );
}

/** Sends nothing: the person reads, changes and sends it. A change and a removal have buttons in the catalogue. */
function fillForm(method: string, target: string, content = ""): void {
  if (method === "POST") {
    const pet = parseExact(content) as Readonly<Record<string, string>>;
    memberFields().forEach((field) => (field.value = pet[field.name] ?? ""));
    byId("name").focus();
  } else if (method === "GET") {
    byId<Field>("path").value = target;
    byId("path").focus();
  } else {
    (byId("pets").querySelector<HTMLElement>("button:enabled") ?? byId("list")).focus();
  }
}

function columns(...children: readonly Child[]): HTMLElement {
  return element("div.columns", ...children);
}

function lists(members: readonly Listed[]): readonly HTMLElement[] {
  const titles = new Set(members.map(({ title }) => title));
  return [...titles].map((heading) => {
    const items = members.filter(({ title }) => title === heading).flatMap(({ name, note, text = "" }) => [
      element("dt", element("code", ...shown(name)), " ", element("span.hint", ...shown(note))),
      element("dd", ...line(text)),
    ]);
    return element("div", element("h3", heading), element("dl", ...items));
  });
}

function blocks(markdown = ""): readonly HTMLElement[] {
  return readMarkdown(markdown).map(({ kind, text }) =>
    element(kind, ...(kind === "pre" ? shownLines(text) : line(text))),
  );
}

function line(text: string): readonly Child[] {
  return readInline(text).map(({ kind, text: part }) => element(kind, ...shown(part)));
}
