/**
 * Decides which presses count. None does while a request is under way. The buttons that send (class "sends") have a
 * cooldown: until a key is entered, and while it is refused, so that an impatient finger sets off no ban. The page then
 * says why.
 */

import { byId, notify } from "./dom.ts";

export function setBusy(isBusy: boolean): void {
  document.body.ariaBusy = String(isBusy);
}

/** @param until as the person reads it; empty if there is no cooldown any more */
export function setCooldown(until: string): void {
  document.body.dataset["cooldown"] = until;
  showCooldown();
}

export function showCooldown(): void {
  document.querySelectorAll<HTMLElement>(".sends").forEach(showState);
}

/** For a button at the end of its way, which keeps the focus. */
export function setAtEnd(id: string, isAtEnd: boolean): void {
  byId(id).toggleAttribute("data-at-end", isAtEnd);
  showState(byId(id));
}

export function onPress(id: string, press: () => unknown): void {
  onClick(byId(id), press);
}

export function onClick(button: HTMLElement, press: () => unknown): void {
  button.onclick = () => acceptPress(button) && press();
  showState(button);
}

export function onSubmit(id: string, submit: () => unknown): void {
  const form = byId(id);
  form.onclick = ({ detail }) => detail < 2; // A double click is one press.
  form.onsubmit = (event) => {
    event.preventDefault();
    return acceptPress(form.querySelector("button") ?? form) && submit();
  };
}

function cooldownOf(button: HTMLElement): string {
  const until = byId("access").hidden ? document.body.dataset["cooldown"] : "a key is entered";
  return (button.matches(".sends") && until) || "";
}

function showState(button: HTMLElement): void {
  const until = cooldownOf(button);
  button.ariaDisabled = String(until !== "" || button.matches("[data-at-end]"));
  button.title = until === "" ? "" : `Rests until ${until}`;
}

/** Whether a press counts now; if not, the page says why. */
export function acceptPress(button: HTMLElement): boolean {
  document.querySelectorAll(".notice:is(.good, .bad)").forEach((old) => old.replaceChildren()); // Of the last press.
  const until = cooldownOf(button);
  const isBusy = document.body.ariaBusy === "true";
  if (isBusy || until !== "") {
    const reason = isBusy ? "Not done: a request was under way." : `Not sent: this button rests until ${until}.`;
    notify(button.closest(":has([role=status])")?.querySelector("[role=status]")?.id ?? "", "bad", reason);
    return false;
  }
  return button.ariaDisabled !== "true";
}
