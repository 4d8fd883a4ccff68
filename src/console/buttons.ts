/**
 * Decides which presses count. None does while a request is under way. The buttons that send (class "sends") have a
 * cooldown: until a key is entered, and while it is refused, so that an impatient finger sets off no ban. The page then
 * says why.
 */

import { byId, type Child, element, endWait, notify } from "./dom.ts";

export function setBusy(isBusy: boolean): void {
  document.body.ariaBusy = String(isBusy);
  if (!isBusy) {
    endWait();
  }
}

/** @param until as the person reads it; empty if there is no cooldown any more */
export function setCooldown(until: string): void {
  document.body.dataset["cooldown"] = until;
  showCooldown();
  if (until === "") {
    endWait();
  }
}

export function showCooldown(): void {
  document.querySelectorAll<HTMLElement>(".sends").forEach(showState);
}

/** A button that has nowhere to go is off, but keeps the focus. */
export function setAtEnd(id: string, isAtEnd: boolean): void {
  byId(id).toggleAttribute("data-at-end", isAtEnd);
  showState(byId(id));
}

export function onPress(id: string, press: () => unknown): void {
  onClick(byId(id), press);
}

/** A double click is one press. */
export function onClick(button: HTMLElement, press: () => unknown): void {
  button.onclick = ({ detail }) => detail < 2 && acceptPress(button) && press();
  showState(button);
}

export function sendButton(press: () => unknown, ...label: readonly Child[]): HTMLButtonElement {
  const button = element("button.small.sends", ...label) as HTMLButtonElement;
  onClick(button, press);
  return button;
}

export function onSubmit(id: string, submit: () => unknown): void {
  const form = byId(id);
  form.onclick = ({ detail }) => detail < 2;
  form.onsubmit = (event) => {
    event.preventDefault();
    return acceptPress(form.querySelector("button") ?? form) && submit();
  };
}

/** Why the button has a cooldown; empty if it has none. */
function cooldownOf(button: HTMLElement): string {
  const until = document.body.dataset["cooldown"];
  const reason = !byId("access").hidden ? "enter a key first" : until && `wait until ${until}`;
  return (button.matches(".sends") && reason) || "";
}

function showState(button: HTMLElement): void {
  button.title = cooldownOf(button);
  button.ariaDisabled = String(button.title !== "" || button.matches("[data-at-end]"));
}

/** Whether a press counts now. If not, the page says why; if so, its notice of the last press goes. */
function acceptPress(button: HTMLElement): boolean {
  const reason = document.body.ariaBusy === "true" ? "a request is under way" : cooldownOf(button);
  if (reason !== "") {
    notify("wait", `Not sent: ${reason}.`);
    return false;
  }
  notify("");
  return button.ariaDisabled !== "true";
}
