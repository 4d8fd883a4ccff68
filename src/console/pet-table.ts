/**
 * The animals of a page, each with buttons that change its status: only if it still is what its row shows, as
 * `If-Match` says. If another was faster, the response tells what it is now.
 */

import { onClick } from "./buttons.ts";
import { writeFields } from "./call-request.ts";
import { byId, element, memberFields, notify, shown } from "./dom.ts";
import { isPet, type Pet } from "./exact-json.ts";
import { type ApiCall, explain, type Session } from "./session.ts";

/** The status that each button gives an animal, and what the animal then is. */
const actions = [
  ["pending", "Reserve", "reserved"],
  ["sold", "Sell", "sold"],
  ["available", "Release", "released"],
] as const;

type Action = (typeof actions)[number];

/** An animal as a row shows it. The status of one that is `past` is what a change once gave it. */
interface Shown extends Pet {
  readonly isPast?: boolean;
}

export class PetTable {
  pets: readonly Shown[] = [];
  readonly #session: Session;
  /** The status that all listed animals have; undefined for any. */
  #filter: string | undefined;
  #addedId = "";
  #changedId = "";
  /** Changes that failed, or whose response was lost: pressed once more, the same request goes out. */
  #failed = new Map<Pet, ApiCall>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Shows animals as the service has just listed them. */
  list(pets: readonly Pet[], filter?: string): void {
    this.#filter = filter;
    this.#changedId = "";
    this.#failed.clear();
    this.show(pets);
  }

  markAdded(id: string): void {
    this.#addedId = id;
  }

  show(pets: readonly Shown[]): void {
    this.pets = pets;
    byId("pets").replaceChildren(...pets.map((pet) => this.#row(pet)));
    byId("table").hidden = pets.length === 0;
  }

  focus(id: string): void {
    byId("pets").querySelectorAll("tr")[this.pets.findIndex((pet) => pet.id === id)]?.focus();
  }

  async #change(pet: Shown, [status, , done]: Action): Promise<void> {
    const content = contentFor(status);
    const fields = { ...writeFields(), "If-Match": `"${pet.status}"` };
    const last = this.#failed.get(pet);
    const isAgain = last?.request.content === content;
    const call = await (isAgain
      ? this.#session.send(last.request)
      : this.#session.request(`/pets/${pet.id}`, { method: "PATCH", fields, content }));
    const { response, body } = call;
    const found = /"([a-z]+)/.exec(response?.headers.get("ETag") ?? "")?.[1];
    if (response?.ok && isPet(body) && body.id === pet.id) {
      const isPast = response.headers.has("Idempotent-Replayed");
      const now = { ...body, isPast };
      this.#replace(pet, now);
      const rest = isPast ? ". Find shows what it is now." : this.#undoButton(now, pet.status);
      const said = ` ${isPast ? "was" : "is"} ${done}: `;
      notify("good", "Animal ", element("bdi", pet.id), said, nameOf(pet), " ", rest);
    } else if (response?.status === 412 && found !== undefined) {
      // If its response was lost, nobody knows whether a change was made.
      const isOwn = last !== undefined && !isAgain && isOpen(last) && last.request.content === contentFor(found);
      this.#replace(pet, { ...pet, status: found, isPast: false });
      const who = isOwn ? "your last press may have done it" : "somebody else was faster";
      notify("bad", nameOf(pet), ` was not ${done}: it is ${found} now, no longer ${pet.status}; ${who}.`);
    } else {
      this.#failed.set(pet, call);
      explain(call);
    }
  }

  /** Takes the change back: to the status before it, not to any other. That is a change, too, and has an Undo. */
  #undoButton(pet: Shown, before: string): HTMLElement | string {
    const action = actions.find(([status]) => status === before);
    if (action === undefined) {
      return "";
    }
    const button = element("button.small.sends", "Undo");
    onClick(button, async () => {
      await this.#change(pet, action);
      this.focus(pet.id); // The pressed button is gone.
    });
    return button;
  }

  #replace(old: Shown, pet: Shown): void {
    const isFocused = byId("pets").contains(document.activeElement);
    this.#changedId = pet.id;
    this.show(this.pets.map((one) => (one === old ? pet : one)));
    if (isFocused) {
      this.focus(pet.id); // Not one of its buttons: a second press of Enter would change it once more.
    }
  }

  #row(pet: Shown): HTMLElement {
    const { id, status, isPast } = pet;
    const isAdded = id === this.#addedId;
    const badge = element("span.badge", ...shown(status));
    badge.dataset["status"] = status;
    const isOut = (this.#filter ?? status) !== status;
    const notes = [isPast && "as it was then", isOut && "no longer in this list"].filter(Boolean).join(", ");
    const tags = [isAdded ? element("span.tag", "new") : "", element("small", notes)];
    const others = memberFields().slice(1).map(({ className, name, dataset }) => {
      const cell = element(`td.${className}`, element("bdi", ...shown(`${pet[name] ?? ""}`)));
      cell.dataset["label"] = dataset["label"];
      return cell;
    });
    const row = element(
      isAdded || id === this.#changedId ? "tr.marked" : "tr",
      element("td", element("bdi", id)),
      element("td.name", nameOf(pet), " ", ...tags),
      ...others,
      element("td", badge),
      element("td.actions", ...actions.flatMap((action) => [this.#button(pet, action), " "])),
    );
    row.tabIndex = -1;
    return row;
  }

  /** A button without use keeps its place, unseen, so that the second click of two finds no other one there. */
  #button(pet: Shown, action: Action): HTMLElement {
    const [next, text] = action;
    const button = element("button.small.sends", text) as HTMLButtonElement;
    button.ariaLabel = `${text} animal ${pet.id}`;
    button.disabled = next === pet.status || (pet.status === "sold" && next === "pending");
    onClick(button, () => this.#change(pet, action));
    return button;
  }
}

function contentFor(status: string): string {
  return `{"status":"${status}"}`;
}

/** Whether nobody knows if the change was made. */
function isOpen({ response }: ApiCall): boolean {
  return response === undefined || response.ok || response.status >= 500;
}

export function nameOf({ name }: Pet): HTMLElement {
  return element("bdi", ...shown(name));
}
