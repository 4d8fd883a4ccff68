/**
 * Decides which presses count. None does while a request is under way. The buttons that send (class "sends") rest while
 * the key is refused, so that an impatient finger sets off no ban. The page then says why.
 */

import { byId, type Child, element, endNotices, notify } from "./dom.ts";

export function setBusy(isBusy: boolean): void {
  document.body.ariaBusy = String(isBusy);
  if (!isBusy) {
    endNotices();
  }
}

/** @param until as the person reads it; empty if there is no cooldown any more */
export function setCooldown(until: string): void {
  document.body.dataset["cooldown"] = until;
  document.querySelectorAll<HTMLElement>(".sends").forEach(showState);
  if (until === "") {
    endNotices();
  }
}

/** A button that has nowhere to go is off, but keeps the focus. */
export function setAtEnd(id: string, isAtEnd: boolean): void {
  byId(id).toggleAttribute("data-at-end", isAtEnd);
  showState(byId(id));
}

/** A double click is one press. */
export function onPress(button: HTMLElement, press: () => unknown): void {
  button.onclick = ({ detail }) => detail < 2 && acceptPress(button) && press();
  showState(button);
}

export function sendButton(press: () => unknown, ...label: readonly Child[]): HTMLElement {
  const button = element("button.sends", ...label);
  onPress(button, press);
  return button;
}

export function onSubmit(id: string, submit: () => unknown): void {
  const form = byId(id);
  form.onclick = ({ detail }) => detail < 2;
  form.onsubmit = (event) => {
    event.preventDefault();
    return acceptPress(form.querySelector(".sends") ?? form) && submit();
  };
}

function cooldownOf(button: HTMLElement): string {
  const until = document.body.dataset["cooldown"];
  return button.matches(".sends") && until ? `wait until ${until}` : "";
}

function showState(button: HTMLElement): void {
  button.title = cooldownOf(button);
  button.ariaDisabled = String(button.title !== "" || button.matches("[data-at-end]"));
}

/** Whether a press counts now. If not, the page says why; if so, what it said of the last press goes. */
export function acceptPress(button: HTMLElement): boolean {
  const reason = document.body.ariaBusy === "true" ? "a request is under way" : cooldownOf(button);
  if (reason !== "") {
    notify("wait", `Not sent: ${reason}.`);
    return false;
  }
  notify("");
  return button.ariaDisabled !== "true";
}
