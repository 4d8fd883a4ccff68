/**
 * The animals of a page, each with buttons that change its status or remove it: only if it still is what its row shows,
 * as `If-Match` says. If another was faster, the response tells what it is now.
 */

import { sendButton } from "./buttons.ts";
import { writeRequest } from "./call-request.ts";
import { byId, type Child, element, memberFields, notify, shown } from "./dom.ts";
import { isPet, type Pet } from "./exact-json.ts";
import { type ApiCall, explain, type Session } from "./session.ts";

const removed = "removed";

/** The status that each button gives an animal, and what the animal then is. A removed one has no row any more. */
const actions = [
  ["pending", "Reserve", "reserved"],
  ["sold", "Sell", "sold"],
  ["available", "Release", "released"],
  [removed, "Remove", removed],
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

  /** Gives the focus to the row of the animal; if it is removed, to the next row, or else to the button that lists. */
  focus(id: string): void {
    const row = `[data-id="${id}"]`;
    const there = byId("pets").querySelector<HTMLElement>(`:is(${row}, ${row} ~ tr):not([hidden])`);
    (there ?? byId("list")).focus();
  }

  async #change(pet: Shown, [status, , done]: Action): Promise<void> {
    const content = contentFor(status);
    const last = this.#failed.get(pet);
    const again = last?.request.content === content ? last?.request : undefined;
    const method = status === removed ? "DELETE" : "PATCH";
    const request = again ?? writeRequest(method, content, { "If-Match": `"${pet.status}"` });
    const call = await this.#session.request(`/pets/${pet.id}`, request);
    const { response, body, code } = call;
    const isGone = code === "pet_not_found";
    const found = isGone ? removed : /"([a-z]+)/.exec(response?.headers.get("ETag") ?? "")?.[1];
    if (status === removed && (isGone || response?.status === 204)) {
      this.#replace(pet, { ...pet, status });
      notify("good", ...sentence(pet, `is ${done}${isGone ? " already" : ""}`));
    } else if (response?.ok && isPet(body) && body.id === pet.id) {
      const isPast = response.headers.has("Idempotent-Replayed");
      const now = { ...body, isPast };
      this.#replace(pet, now);
      // Undo goes back to the status before, not to any other. That is a change, too, and has an Undo.
      const back = actions.find(([one]) => one === pet.status);
      const undo = back === undefined ? "" : this.#noticeButton(now, back, "Undo");
      const rest = isPast ? ". Find shows what it is now." : undo;
      notify("good", ...sentence(pet, `${isPast ? "was" : "is"} ${done}`), " ", rest);
    } else if ((isGone || response?.status === 412) && found !== undefined) {
      // If its response was lost, nobody knows whether a change was made.
      const isOwn = last && !again && isOpen(last) && last.request.content === contentFor(found);
      this.#replace(pet, { ...pet, status: found, isPast: false });
      const who = isOwn ? "your last press may have done it" : "somebody else was faster";
      notify("bad", nameOf(pet), ` was not ${done}: it is ${found} now, no longer ${pet.status}; ${who}.`);
    } else {
      this.#failed.set(pet, call);
      explain(call);
    }
  }

  /** A removal lasts, so it takes a second press. The focus is not on its button: Enter twice removes nothing. */
  #ask(pet: Shown, action: Action): void {
    const button = this.#noticeButton(pet, action, "Remove ", nameOf(pet));
    notify("", "Remove animal ", element("bdi", pet.id), " for good? ", button);
    byId("notice").focus();
  }

  #noticeButton(pet: Shown, action: Action, ...label: readonly Child[]): HTMLElement {
    return sendButton(async () => {
      await this.#change(pet, action);
      this.focus(pet.id); // The pressed button is gone.
    }, ...label);
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
      ...[actions.slice(0, 3), actions.slice(3)].map((some) =>
        element("td.actions", ...some.flatMap((action) => [this.#button(pet, action), " "])),
      ),
    );
    row.tabIndex = -1;
    row.dataset["id"] = id;
    row.hidden = status === removed;
    return row;
  }

  /** A button without use keeps its place, unseen, so that the second click of two finds no other one there. */
  #button(pet: Shown, action: Action): HTMLElement {
    const [next, text] = action;
    const press = (): unknown => (next === removed ? this.#ask(pet, action) : this.#change(pet, action));
    const button = sendButton(press, text);
    button.ariaLabel = `${text} animal ${pet.id}`;
    button.disabled = next === pet.status || (pet.status === "sold" && next === "pending");
    return button;
  }
}

function contentFor(status: string): string | undefined {
  return status === removed ? undefined : `{"status":"${status}"}`;
}

/** Whether nobody knows if the change was made. */
function isOpen({ response }: ApiCall): boolean {
  return response === undefined || response.ok || response.status >= 500;
}

/** What happened to an animal: "Animal 2 is sold: Misty". */
export function sentence(pet: Pet, happened: string): readonly Child[] {
  return ["Animal ", element("bdi", pet.id), ` ${happened}: `, nameOf(pet)];
}

function nameOf({ name }: Pet): HTMLElement {
  return element("bdi", ...shown(name));
}
