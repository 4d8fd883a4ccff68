/** The only ways in which this page changes its document: elements, attributes and text. No markup is ever parsed. */

import { isInt64, parseWholeNumber } from "./exact-json.ts";
import { markInvisible } from "./invisible-characters.ts";

export type Child = Node | string;

/** @param kind as "span" or "span.note": a name, and its classes */
export function element(kind: string, ...children: readonly Child[]): HTMLElement {
  const [name = "", ...classes] = kind.split(".");
  const made = document.createElement(name);
  made.className = classes.join(" ");
  if (name === "bdi") {
    made.translate = false; // No browser translates names and numbers.
  }
  made.append(...children);
  return made;
}

export type Field = HTMLInputElement;

/** An element of the page. A test checks that each id is in it. */
export function byId<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

/** Text from outside: characters that would not be seen are shown by their code points. */
export function shown(text = ""): readonly Child[] {
  return markInvisible(text).map((part, index) => (index % 2 === 0 ? part : element("span.code-point", part)));
}

/** Text that means itself, as a name or a number. */
export function literal(text = ""): HTMLElement {
  return element("bdi", ...shown(text));
}

/**
 * Says what happened, or why a press does not count, where the person looks: in the dialog or the key's form, or else
 * in the toast, which is in view wherever one has scrolled. Screen readers announce it, and no focus moves.
 * @param kind "wait" if it is to go when a wait is over
 */
export function notify(kind: "" | "good" | "bad" | "wait", ...children: readonly Child[]): void {
  endNotices(".says");
  const place = document.querySelector<HTMLElement>(":is(dialog[open], #access:not([hidden])) .says") ?? byId("notice");
  place.classList.add(kind || "says");
  place.replaceChildren(...children);
}

/** The digits in the field of a category; undefined if they are wrong, as the page then says. */
export function readCategory(field: Field): string | undefined {
  const digits = parseWholeNumber(field.value);
  const isRight = digits !== undefined && isInt64(digits);
  field.ariaInvalid = String(!isRight);
  if (!isRight) {
    notify("bad", "The category is a whole number, such as 7, and not beyond 9223372036854775807.");
  }
  return isRight ? digits : undefined;
}

/** Takes back what was said; by itself what goes when a wait is over, be it a request or a cooldown. */
export function endNotices(places = ".says.wait"): void {
  document.querySelectorAll(places).forEach((place) => {
    place.classList.remove("good", "bad", "wait");
    place.replaceChildren();
  });
}
