/** The only ways in which this page changes its document: elements, attributes and text. No markup is ever parsed. */

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

/** The animal's fields in the form, its name first. Class "number" means a whole number. */
export function memberFields(): readonly Field[] {
  return [...byId("members").querySelectorAll("input")];
}

/** Text from outside: characters that would not be seen are shown by their code points. */
export function shown(text = ""): readonly Child[] {
  return markInvisible(text).map((part, index) => (index % 2 === 0 ? part : element("span.code-point", part)));
}

export function setText(id: string, text: string): void {
  byId(id).textContent = text;
}

/**
 * Says what happened, or why a press does not count, in the one notice, which is in view wherever the person has
 * scrolled. Screen readers announce it, and no focus moves.
 * @param kind "wait" if it is to go when a wait is over
 */
export function notify(kind: "" | "good" | "bad" | "wait", ...children: readonly Child[]): void {
  const notice = byId("notice");
  notice.className = kind;
  notice.replaceChildren(...children);
}

/** The request under way, or the cooldown, is over, and so is what the notice said of it. */
export function endWait(): void {
  if (byId("notice").className === "wait") {
    notify("");
  }
}
