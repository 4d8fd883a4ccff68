/**
 * The animals of a page, each with buttons that change its status: only if it still is what its row shows, as
 * `If-Match` says. If another was faster, the response tells what it is now.
 */

import { type ApiRequest, writeFields } from "./api-request.ts";
import { byId, element, notify, shown } from "./dom.ts";
import type { Pet } from "./exact-json.ts";
import { guard } from "./press.ts";
import { explain, type Session } from "./session.ts";

/** The status that each button gives an animal, and what the animal then is. */
const actions = [
  ["pending", "Reserve", "reserved"],
  ["sold", "Sell", "sold"],
  ["available", "Free", "free"],
] as const;

type Action = (typeof actions)[number];

export class PetTable {
  pets: readonly Pet[] = [];
  readonly #session: Session;
  #addedId = "";
  #changedId = "";
  /** Changes that failed, or whose response was lost: pressed once more, the same request goes out. */
  #failed = new Map<Pet, ApiRequest>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Shows animals as the service has just listed them. */
  list(pets: readonly Pet[]): void {
    this.#changedId = "";
    this.#failed.clear();
    notify("change-notice", "");
    this.show(pets);
  }

  markAdded(id: string): void {
    this.#addedId = id;
  }

  show(pets: readonly Pet[]): void {
    this.pets = pets;
    byId("pets").replaceChildren(...pets.map((pet) => this.#row(pet)));
    byId("table").hidden = pets.length === 0;
  }

  focus(id: string): void {
    byId("pets").querySelectorAll("tr")[this.pets.findIndex((pet) => pet.id === id)]?.focus();
  }

  async #change(pet: Pet, [status, , done]: Action): Promise<void> {
    const content = `{"status":"${status}"}`;
    const fields = { ...writeFields(), "If-Match": `"${pet.status}"` };
    const last = this.#failed.get(pet);
    const exchange = await (last?.content === content
      ? this.#session.send(last)
      : this.#session.request(`/pets/${pet.id}`, { method: "PATCH", fields, content }));
    const { request, response, body } = exchange;
    const found = /"(\w+)"/.exec(response?.headers.get("ETag") ?? "")?.[1];
    if (response?.ok === true && (body as Partial<Pet>).id === pet.id) {
      const isReplay = response.headers.has("Idempotent-Replayed");
      this.#replace(pet, body as Pet);
      notify("change-notice", "good", `Animal ${pet.id} ${isReplay ? "was" : "is"} ${done}: `, nameOf(pet));
    } else if (response?.status === 412 && found !== undefined) {
      this.#replace(pet, { ...pet, status: found });
      const reason = ` is ${found} now, no longer ${pet.status}: somebody else was faster.`;
      notify("change-notice", "bad", `Not ${done}: `, nameOf(pet), reason);
    } else {
      this.#failed.set(pet, request);
      notify("change-notice", "bad", ...explain(exchange));
    }
  }

  #replace(old: Pet, pet: Pet): void {
    const isFocused = byId("pets").contains(document.activeElement);
    this.#changedId = pet.id;
    this.show(this.pets.map((one) => (one === old ? pet : one)));
    if (isFocused) {
      this.focus(pet.id); // Not one of its buttons: a second press of Enter would change it once more.
    }
  }

  #row(pet: Pet): HTMLElement {
    const { id, categoryId, status } = pet;
    const isAdded = id === this.#addedId;
    const badge = element("span.badge", ...shown(status));
    badge.dataset["status"] = status;
    const row = element(
      isAdded || id === this.#changedId ? "tr.marked" : "tr",
      element("td", id),
      element("td.name", nameOf(pet), ...(isAdded ? [" ", element("span.tag", "new")] : [])),
      element("td.number", categoryId),
      element("td", badge),
      element("td.actions", ...actions.flatMap((action) => [this.#button(pet, action), " "])),
    );
    row.tabIndex = -1;
    return row;
  }

  /** A button without use keeps its place, unseen, so that the second click of two finds no other one there. */
  #button(pet: Pet, action: Action): HTMLElement {
    const [next, text] = action;
    const button = element("button.small.sends", text) as HTMLButtonElement;
    button.ariaLabel = `${text} animal ${pet.id}`;
    button.disabled = next === pet.status || (pet.status === "sold" && next === "pending");
    guard(button, () => this.#change(pet, action));
    return button;
  }
}

function nameOf({ name }: Pet): HTMLElement {
  return element("bdi", ...shown(name));
}
