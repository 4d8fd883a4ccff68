/**
 * Which presses count. None does while a request is under way. The buttons that send (class "sends") rest until a key
 * is entered, and while it is refused, so that an impatient finger sets off no ban. The page then says why.
 */

import { byId, notify } from "./dom.ts";

export function setBusy(isBusy: boolean): void {
  document.body.ariaBusy = String(isBusy);
}

/** @param until as the person reads it; empty where the buttons need not rest any more */
export function setRest(until: string): void {
  document.body.dataset["rest"] = until;
  showRests();
}

export function showRests(): void {
  document.querySelectorAll<HTMLElement>(".sends").forEach(showState);
}

/** For a button at the end of its way, which keeps the focus. */
export function setAtEnd(id: string, isAtEnd: boolean): void {
  byId(id).toggleAttribute("data-at-end", isAtEnd);
  showState(byId(id));
}

export function onPress(id: string, press: () => unknown): void {
  guard(byId(id), press);
}

export function guard(button: HTMLElement, press: () => unknown): void {
  button.onclick = () => mayPress(button) && press();
  showState(button);
}

export function onSubmit(id: string, submit: () => unknown): void {
  const form = byId(id);
  form.onclick = ({ detail }) => detail < 2; // A double click is one press.
  form.onsubmit = (event) => {
    event.preventDefault();
    return mayPress(form.querySelector("button") ?? form) && submit();
  };
}

function restOf(button: HTMLElement): string {
  const rest = byId("access").hidden ? document.body.dataset["rest"] : "a key is entered";
  return (button.matches(".sends") && rest) || "";
}

function showState(button: HTMLElement): void {
  const rest = restOf(button);
  button.ariaDisabled = String(rest !== "" || button.matches("[data-at-end]"));
  button.title = rest === "" ? "" : `Rests until ${rest}`;
}

/** Whether a press counts now; if not, the page says why. */
export function mayPress(button: HTMLElement): boolean {
  document.querySelectorAll(".notice:is(.good, .bad)").forEach((old) => old.replaceChildren()); // Of the last press.
  const rest = restOf(button);
  const isBusy = document.body.ariaBusy === "true";
  if (isBusy || rest !== "") {
    const reason = isBusy ? "Not done: a request was under way." : `Not sent: this button rests until ${rest}.`;
    notify(button.closest(":has([role=status])")?.querySelector("[role=status]")?.id ?? "", "bad", reason);
    return false;
  }
  return button.ariaDisabled !== "true";
}
