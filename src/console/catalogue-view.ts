/**
 * The catalogue, a page at a time: forward by the `Link` of the response, back by the queries that led here. The table
 * is what the service has: it never leaves out an animal between two that it shows.
 */

import { acceptPress, onPress, onSubmit, setAtEnd } from "./buttons.ts";
import { nextQuery } from "./call-request.ts";
import { byId, type Field, notify, setText } from "./dom.ts";
import { parseWholeNumber, type Pet } from "./exact-json.ts";
import { PetTable } from "./pet-table.ts";
import { restoreField, storeField } from "./session-storage.ts";
import { explain, petsOf, type Session } from "./session.ts";

export class CatalogueView {
  readonly #session: Session;
  readonly #table: PetTable;
  readonly #filter = byId<Field>("list-status");
  readonly #limit = byId<Field>("limit");
  /** The queries from the first page to the one shown; empty if nothing is listed. */
  #trail: readonly string[] = [];
  #next: string | undefined;
  /** The filter that was listed, or was to be. */
  #asked = "";

  constructor(session: Session) {
    this.#session = session;
    this.#table = new PetTable(session);
    restoreField(this.#limit);
    restoreField(this.#filter);
    const wanted = byId<Field>("wanted");
    onSubmit("list-form", () => this.list());
    onSubmit("find-form", () => this.#findTyped(parseWholeNumber(wanted.value) ?? ""));
    onPress("next", () => this.#open([...this.#trail, this.#next ?? ""]));
    onPress("back", () => this.#open(this.#trail.slice(0, -1)));
    onChoice(this.#filter, () => this.#filterChosen());
    this.forget();
  }

  /** Shows the first page. */
  async list(): Promise<void> {
    await this.#open([query({ limit: this.#limit.value, status: this.#filter.value })]);
  }

  /** Shows the page again that is shown. */
  async listAgain(): Promise<void> {
    await (this.#trail.length === 0 ? this.list() : this.#open(this.#trail));
  }

  /** Shows the animal, and those after it, whatever their status. */
  async find(id: string): Promise<void> {
    await this.#open([...this.#trail, query({ limit: this.#limit.value, after: `${BigInt(id) - 1n}` })], id);
    this.#table.focus(id);
  }

  /** Marks an animal that was just added. Returns whether it is shown: only right after the one before it. */
  add(pet: Pet, isReplay: boolean): boolean {
    const { pets } = this.#table;
    const before = BigInt(pets.at(-1)?.id ?? given(this.#trail, "after") ?? 0);
    const isWhole = this.#trail.length > 0 && this.#next === undefined && given(this.#trail, "status") === undefined;
    const isShown = isWhole && !isReplay && BigInt(pet.id) === before + 1n; // A replay says what it was then.
    this.#table.markAdded(pet.id);
    if (isShown) {
      this.#table.show([...pets, pet]);
      this.#showRange();
    }
    return isShown;
  }

  forget(): void {
    [this.#trail, this.#next] = [[], undefined];
    this.#table.list([]);
    this.#table.markAdded("");
    this.#showRange();
    storeField(this.#limit);
    storeField(this.#filter);
  }

  async #findTyped(number: string): Promise<void> {
    if (Number(number) > 0) {
      await this.find(number);
    } else {
      notify("bad", "Enter a number, such as 17.");
    }
  }

  /** @param wanted the number of the animal that the page should begin with */
  async #open(pages: readonly string[], wanted?: string): Promise<void> {
    this.#asked = this.#filter.value;
    const call = await this.#session.request(`/pets${pages.at(-1)}`);
    const pets = petsOf(call);
    if (pets === undefined) {
      explain(call);
      return;
    }
    if (wanted !== undefined && pets[0]?.id !== wanted) {
      const others = pets.length === 0 ? ", and none with a higher number" : "; these come after it";
      notify("bad", `There is no animal ${wanted}${others}.`);
    }
    this.#trail = pages;
    this.#next = nextQuery(call.response?.headers.get("Link") ?? null);
    this.#filter.value = this.#asked = given(pages, "status") ?? "";
    storeField(this.#limit);
    storeField(this.#filter);
    this.#table.list(pets, given(pages, "status"));
    byId("pets").firstElementChild?.scrollIntoView({ block: "nearest" }); // The pressed button is below the page's end.
    this.#showRange();
    setText("as-of", `as of ${new Date().toLocaleTimeString(undefined, { timeStyle: "short" })}`);
  }

  #showRange(): void {
    const isListed = this.#trail.length > 0;
    setText("range", isListed ? rangeText(this.#table.pets, this.#trail, this.#next) : "");
    setAtEnd("back", this.#trail.length < 2);
    setAtEnd("next", this.#next === undefined);
    if (!isListed) {
      setText("as-of", "");
    }
  }

  async #filterChosen(): Promise<void> {
    if (this.#session.key !== "" && this.#filter.value !== this.#asked && acceptPress(byId("list"))) {
      await this.list();
    }
  }
}

/** An arrow key chooses each value on its way: what it has chosen counts at Enter, or when the field is left. */
function onChoice(field: Field, choose: () => unknown): void {
  let isByArrow = false;
  field.onpointerdown = () => (isByArrow = false);
  field.onkeydown = ({ key }) => {
    isByArrow = key !== "Enter";
    return isByArrow || choose();
  };
  field.onchange = () => isByArrow || choose();
  field.onblur = ({ relatedTarget }) => relatedTarget === byId("list") || choose(); // Its press lists.
}

/** What the query of the page that is shown says. */
function given(trail: readonly string[], name: string): string | undefined {
  return new URLSearchParams(trail.at(-1)).get(name) ?? undefined;
}

/** What the table shows, or why it is empty. */
function rangeText(pets: readonly Pet[], trail: readonly string[], next: string | undefined): string {
  const status = given(trail, "status");
  const [first, last] = [pets[0]?.id, pets.at(-1)?.id];
  if (first === undefined) {
    const all = status === undefined ? "The catalogue is empty. Add its first animal." : `No animal is ${status}.`;
    return given(trail, "after") === undefined ? all : "No more animals.";
  }
  const span = first === last ? `Animal ${first}` : `Animals ${first} to ${last}`;
  return `${span}${status ? ` (${status})` : ""}${next === undefined ? " (end)" : ""}`;
}

/** It has a page size, unless the description, which names the service's own, could not be read. */
function query(parameters: Readonly<Record<string, string>>): string {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return given.size === 0 ? "" : `?${given}`;
}
