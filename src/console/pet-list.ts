/**
 * The animals shown, each with the changes that its status invites, and a menu with the rest. A change is made only if
 * the animal still is what its row shows, as `If-Match` says: by its tag where that is known, else by its status.
 * Whenever a response does not tell what the animal is now, it is asked for once more.
 */

import { onPress, sendButton } from "./buttons.ts";
import { byId, type Child, element, literal, notify, shown } from "./dom.ts";
import { type Pet, toJson } from "./exact-json.ts";
import { type ApiCall, explain, petOf, type Session, writeRequest } from "./session.ts";

const removed = "removed";

/** What a press gives an animal: its name on the button, and what the animal then is. */
const words: Readonly<Record<string, readonly [string, string]>> = {
  pending: ["Reserve", "reserved"],
  sold: ["Sell", "sold"],
  available: ["Unreserve", "available"],
};

/** The changes beside an animal, by its status. */
const offered: Readonly<Record<string, readonly string[]>> = {
  available: ["pending", "sold"],
  pending: ["available", "sold"],
};

/** The members that a change gives an animal; undefined removes it. */
export type Change = Partial<Pet> | undefined;

/** What came of a change that was answered. */
interface Outcome {
  readonly now: Pet;
  /** Whether the animal is as the change has left it. */
  readonly isLeft: boolean;
  /** If the change came too late: who was faster. */
  readonly who?: string;
}

export class PetList {
  pets: readonly Pet[] = [];
  readonly #session: Session;
  readonly #correct: (pet: Pet) => void;
  /** Whether an animal still belongs to what is listed. */
  #isListed = (_: Pet): boolean => true;
  /** Changes that failed, or whose response was lost: pressed once more, the same request goes out. */
  #failed = new WeakMap<Pet, ApiCall>();

  constructor(session: Session, correct: (pet: Pet) => void) {
    this.#session = session;
    this.#correct = correct;
  }

  show(pets: readonly Pet[], isListed: (pet: Pet) => boolean, markedId = ""): void {
    this.pets = pets;
    this.#isListed = isListed;
    byId("pets").replaceChildren(...pets.map((pet) => this.#row(pet, pet.id === markedId)));
  }

  /** Gives the focus to the row of the animal; if it is removed, to the next row, or else to the search. */
  focus(id: string): void {
    const row = `[data-id="${id}"]`;
    const there = byId("pets").querySelector<HTMLElement>(`:is(${row}, ${row} ~ li):not([hidden])`);
    (there ?? byId("wanted")).focus();
  }

  /** Asks for an animal, and shows it as it is. @returns undefined without an answer, as the page then says */
  async ask(pet: Pet): Promise<Pet | undefined> {
    const call = await this.#session.request(`/pets/${pet.id}`);
    const now = call.code === "pet_not_found" ? { ...pet, status: removed } : petOf(call);
    return this.#show(pet, now, call);
  }

  /** @returns undefined if the change is not known to be made, as the page then says */
  async change(pet: Pet, change: Change): Promise<Outcome | undefined> {
    const content = change && toJson(change);
    const last = this.#failed.get(pet);
    const again = last?.request.content === content ? last?.request : undefined;
    const match = { "If-Match": `"${pet.tag || pet.status}"` };
    const request = again ?? writeRequest(change === undefined ? "DELETE" : "PATCH", content, match);
    const call = await this.#session.request(`/pets/${pet.id}`, request);
    const { response, code } = call;
    const isGone = change === undefined && response?.status === 204;
    const made = isGone ? { ...pet, status: removed } : petOf(call);
    const isLate = code === "precondition_failed" || code === "pet_not_found";
    const isPast = isLate || (!isGone && response?.headers.has("Idempotent-Replayed")); // It says what was then.
    const now = isPast ? await this.ask(pet) : this.#show(pet, made, call);
    if (now === undefined) {
      this.#failed.set(pet, call);
      return undefined;
    }
    // If its response was lost, or was an error of the server, nobody knows whether a change was made.
    const { status = 500 } = last?.response ?? {};
    const found = now.status === removed ? undefined : toJson({ status: now.status });
    const isOwn = last && !again && (status < 300 || status >= 500) && last.request.content === found;
    const who = isOwn ? "Your last press may have done it" : "Somebody else was faster";
    return { now, isLeft: now.tag === made?.tag, ...(isLate && { who }) };
  }

  /** Says what came of a change. */
  tell(pet: Pet, change: Change, { now, isLeft, who }: Outcome): void {
    const is = words[now.status]?.[1] ?? now.status;
    if (who !== undefined) {
      const seen = now.status === pet.status ? "has changed meanwhile, and is shown as it is now" : `is already ${is}`;
      notify("bad", `${who}: `, literal(pet.name), ` ${seen}.`);
    } else if (change === undefined || !isLeft) {
      notify("good", ...sentence(now, isLeft ? "is removed" : `is ${is} now`));
    } else {
      // Undo takes back this change, and nothing that was done since. It is a change, too, and has an Undo.
      const before = Object.fromEntries(Object.keys(change).map((member) => [member, pet[member]]));
      const undo = sendButton(() => this.#press(now, before), "Undo");
      notify("good", ...sentence(now, `is ${change.status === undefined ? "corrected" : is}`), undo);
    }
    this.reveal();
  }

  /** Brings what was changed into view, where a notice has taken the room. */
  reveal(): void {
    byId("pets").querySelector(".marked")?.scrollIntoView({ block: "nearest" });
  }

  /** Shows what became of an animal, or explains why nobody knows. */
  #show(old: Pet, now: Pet | undefined, call: ApiCall): Pet | undefined {
    const { activeElement } = document;
    const isLost = activeElement === document.body || byId("pets").contains(activeElement);
    this.show(this.pets.map((one) => (one.id === old.id ? now ?? old : one)), this.#isListed, old.id);
    if (isLost) {
      this.focus(old.id); // Not one of its buttons: a second press of Enter would change it once more.
    }
    if (now === undefined) {
      explain(call);
    }
    return now;
  }

  async #press(pet: Pet, change: Change): Promise<void> {
    const outcome = await this.change(pet, change);
    if (outcome !== undefined) {
      this.tell(pet, change, outcome);
    }
  }

  /** A removal lasts, so it takes a second press, and the dialog begins at Cancel: Enter twice removes nothing. */
  #ask(pet: Pet): void {
    const dialog = byId<HTMLDialogElement>("removal");
    byId("question").replaceChildren("Remove animal ", literal(pet.id), ", ", literal(pet.name), "?");
    onPress(byId("remove"), () => {
      dialog.close();
      return this.#press(pet, undefined);
    });
    dialog.showModal();
  }

  #row(pet: Pet, isMarked: boolean): HTMLElement {
    const { id, name, status, categoryId } = pet;
    const pill = element("span.pill", ...shown(status));
    pill.dataset["status"] = status;
    const more = element("button.more", "…") as HTMLButtonElement;
    more.ariaLabel = `More for animal ${id}`;
    more.popoverTargetElement = byId("menu");
    more.onclick = ({ detail }) => (detail < 2 ? this.#fillMenu(pet) : false);
    const changes = offered[status] ?? [];
    const row = element(
      isMarked ? "li.marked" : "li",
      element("span.number", literal(id)),
      element("strong", literal(name), this.#isListed(pet) ? "" : element("small", " no longer in this list")),
      pill,
      element(
        "span.rest",
        element("span.category", "Category ", literal(categoryId)),
        element("span.actions", ...changes.map((next) => this.#button(pet, next)), more),
      ),
    );
    row.tabIndex = -1;
    row.dataset["id"] = id;
    row.hidden = status === removed;
    return row;
  }

  #button(pet: Pet, status: string): HTMLElement {
    const label = words[status]?.[0] ?? "";
    const button = sendButton(() => this.#press(pet, { status }), label);
    button.ariaLabel = `${label} animal ${pet.id}`;
    return button;
  }

  /** The menu itself has the focus, so that Enter twice at "…" changes nothing. */
  #fillMenu(pet: Pet): void {
    const menu = byId("menu");
    const item = (label: string, press: () => unknown): HTMLElement =>
      sendButton(() => {
        menu.hidePopover();
        return press();
      }, label);
    const remove = item("Remove", () => this.#ask(pet));
    remove.classList.add("danger");
    byId("menu-pet").replaceChildren(literal(pet.id), " ", literal(pet.name));
    byId("menu-items").replaceChildren(
      pet.status === "sold" ? item("Make available", () => this.#press(pet, { status: "available" })) : "",
      item("Correct", () => this.#correct(pet)),
      remove,
    );
  }
}

/** What happened to an animal: "Animal 2 is sold: Misty". */
export function sentence({ id, name }: Pet, happened: string): readonly Child[] {
  return ["Animal ", literal(id), ` ${happened}: `, literal(name), " "];
}
