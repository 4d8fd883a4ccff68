/**
 * The only ways in which this page changes its document: elements, attributes and text. No markup is ever parsed.
 */

import { visibleParts } from "./visible.ts";

export type Child = Node | string;

/** @param kind as "span" or "span.note": a name, and its classes */
export function element(kind: string, ...children: readonly Child[]): HTMLElement {
  const [name = "", ...classes] = kind.split(".");
  const made = document.createElement(name);
  made.className = classes.join(" ");
  made.append(...children);
  return made;
}

/** An element of the page; only a form's fields have a value. A test checks that each id is in the page. */
export function byId(id: string): HTMLInputElement {
  return document.getElementById(id) as HTMLInputElement;
}

/** Text from outside: characters that would not be seen are shown by their code points. */
export function shown(text = ""): readonly Child[] {
  return visibleParts(text).map((part, index) => (index % 2 === 0 ? part : element("span.code-point", part)));
}

/** As `shown`, but lines stay lines. */
export function shownLines(text: string): readonly Child[] {
  return text.split("\n").flatMap((line, index) => [index === 0 ? "" : "\n", ...shown(line)]);
}

/** What a folded part says of itself: a request line, and what came of it. */
export function summary(method: string, path: string, ...outcome: readonly Child[]): HTMLElement {
  return element(
    "summary",
    element("code", element("b", method), " ", ...shown(path)),
    element("span.hint", ...outcome),
  );
}

export function setText(id: string, text: string): void {
  byId(id).textContent = text;
}

/** Says how something ended, in a live region: screen readers announce it, and no focus moves. */
export function notify(id: string, kind: "" | "good" | "bad", ...children: readonly Child[]): void {
  const notice = byId(id);
  notice.className = `notice ${kind}`;
  notice.replaceChildren(...children);
}

export function setBusy(isBusy: boolean): void {
  document.body.ariaBusy = String(isBusy);
}

/** While the page is busy no press counts, and the first notice of its section says so. */
function isDropped(pressed: HTMLElement): boolean {
  const isBusy = document.body.ariaBusy === "true";
  if (isBusy) {
    notify(pressed.closest("section")?.querySelector(".notice")?.id ?? "", "bad", "Not done: a request was under way.");
  }
  return isBusy;
}

export function onPress(id: string, press: () => unknown): void {
  const button = byId(id);
  button.onclick = () => button.ariaDisabled === "true" || isDropped(button) || press();
}

export function onSubmit(id: string, submit: () => unknown): void {
  const form = byId(id);
  form.onclick = ({ detail }) => detail < 2; // A double click is one press.
  form.onsubmit = (event) => {
    event.preventDefault();
    return isDropped(form) || submit();
  };
}
