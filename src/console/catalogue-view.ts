/**
 * The catalogue, a page at a time: forward by the `Link` of the response, back by the queries that led here. A page is
 * what the service has: it never leaves out an animal between two that it shows. What was found by name takes its
 * place.
 */

import { onPress, onSubmit, setAtEnd } from "./buttons.ts";
import { nextQuery } from "./call-request.ts";
import { byId, type Field, notify, setText } from "./dom.ts";
import { isInt64, parseWholeNumber, type Pet } from "./exact-json.ts";
import { continueSearch, newSearch, type Search } from "./name-search.ts";
import { PetTable } from "./pet-table.ts";
import type { QuotaView } from "./quota-view.ts";
import { storeField } from "./session-storage.ts";
import { explain, petsOf, type Session } from "./session.ts";

export class CatalogueView {
  readonly #session: Session;
  readonly #quotaView: QuotaView;
  readonly #table: PetTable;
  readonly #filter = byId<Field>("list-status");
  readonly #limit = byId<Field>("limit");
  readonly #wanted = byId<Field>("wanted");
  /** The queries from the first page to the one shown; empty if nothing is listed. */
  #trail: readonly string[] = [];
  #next: string | undefined;
  /** What was found by name, if that is shown instead of the last page of the trail. */
  #search: Search | undefined;
  /** The filter that was listed, or was to be. */
  #asked = "";

  constructor(session: Session, quotaView: QuotaView) {
    this.#session = session;
    this.#quotaView = quotaView;
    this.#table = new PetTable(session);
    onSubmit("list-form", () => this.list());
    onSubmit("find-form", () => this.#findTyped(this.#wanted.value.trim()));
    onPress("next", () => this.#open([...this.#trail, this.#next ?? ""]));
    onPress("back", () => this.#open(this.#search === undefined ? this.#trail.slice(0, -1) : this.#trail));
    onChoice(this.#filter, () => {
      if (session.key !== "" && this.#filter.value !== this.#asked) {
        this.#filter.form?.requestSubmit();
        this.#filter.value = this.#asked; // What is chosen by now, unless the press did not count.
      }
    });
    this.#showRange();
  }

  /** Shows the first page. */
  async list(): Promise<void> {
    await this.#open([query({ limit: this.#limit.value, status: this.#filter.value })]);
  }

  /** Shows the page, or what was found, again. */
  async listAgain(): Promise<void> {
    if (this.#search !== undefined) {
      await this.#findNames(newSearch(this.#search.text));
    } else {
      await (this.#trail.length === 0 ? this.list() : this.#open(this.#trail));
    }
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
    const isEnd = this.#trail.length > 0 && this.#next === undefined && this.#search === undefined;
    const isWhole = isEnd && given(this.#trail, "status") === undefined;
    const isShown = isWhole && !isReplay && BigInt(pet.id) === before + 1n; // A replay says what it was then.
    this.#table.markAdded(pet.id);
    if (isShown) {
      this.#table.show([...pets, pet]);
      this.#showRange();
    }
    return isShown;
  }

  forget(): void {
    [this.#trail, this.#next, this.#search] = [[], undefined, undefined];
    this.#table.list([]);
    this.#table.markAdded("");
    this.#showRange();
    storeField(this.#limit);
    storeField(this.#filter);
  }

  async #findTyped(typed: string): Promise<void> {
    const number = parseWholeNumber(typed);
    if (typed === "" || BigInt(number ?? 1) < 1n) {
      notify("bad", "Enter a number, such as 17, or a part of a name.");
    } else if (number === undefined) {
      const search = this.#search;
      const isGoingOn = search?.text === typed && search.next !== undefined;
      // What was found goes on as the table has it: changed or removed meanwhile.
      await this.#findNames(isGoingOn ? { ...search, found: this.#table.pets } : newSearch(typed));
    } else if (!isInt64(number)) {
      notify("bad", noAnimal(number, []));
    } else {
      await this.find(number);
      if (this.#table.pets[0]?.id === number) {
        this.#wanted.value = ""; // For the next number.
      } else {
        this.#wanted.select();
      }
    }
  }

  async #findNames(begun: Search): Promise<void> {
    const limits = await this.#session.request("/limits");
    if (!limits.response?.ok) {
      explain(limits);
      return;
    }
    const spare = this.#quotaView.countSpare();
    const progress = (soFar: Search): void => notify("", searchText(soFar));
    const { search, failed } = await continueSearch(this.#session, begun, spare, progress);
    const isShown = search !== begun && this.#session.key !== ""; // A key that was refused meanwhile is forgotten.
    if (isShown) {
      this.#search = search;
      this.#show(search.found);
    }
    if (failed !== undefined) {
      explain(failed);
    } else if (search.next !== undefined) {
      notify("", `${searchText(search)}. Press Find to go on.`);
    } else if (isShown) {
      notify("");
      search.found.slice(0, 1).forEach(({ id }) => this.#table.focus(id));
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
      notify("bad", noAnimal(wanted, pets));
      if (pets.length === 0) {
        return; // What is shown stays.
      }
    }
    [this.#trail, this.#search] = [pages, undefined];
    this.#next = nextQuery(call.response?.headers.get("Link") ?? null);
    this.#show(pets, given(pages, "status"));
  }

  /** Shows animals as the service has just listed them. */
  #show(pets: readonly Pet[], status?: string): void {
    this.#filter.value = this.#asked = status ?? "";
    storeField(this.#limit);
    storeField(this.#filter);
    this.#table.list(pets, status);
    byId("pets").firstElementChild?.scrollIntoView({ block: "nearest" }); // The pressed button is below the page's end.
    this.#showRange();
    setText("as-of", `as of ${new Date().toLocaleTimeString(undefined, { timeStyle: "short" })}`);
  }

  #showRange(): void {
    const isListed = this.#trail.length > 0 || this.#search !== undefined;
    const page = (): string => rangeText(this.#table.pets, this.#trail, this.#next);
    setText("range", this.#search !== undefined ? searchText(this.#search) : isListed ? page() : "");
    setAtEnd("back", this.#trail.length < (this.#search === undefined ? 2 : 1));
    setAtEnd("next", this.#next === undefined || this.#search !== undefined);
    if (!isListed) {
      setText("as-of", "");
    }
  }
}

/** An arrow key changes the value at each press: its choice counts at Enter, or when the field is left. */
function onChoice(field: Field, choose: () => unknown): void {
  let isByArrow = false;
  field.onpointerdown = () => (isByArrow = false);
  field.onkeydown = ({ key }) => {
    isByArrow = key !== "Enter";
    return isByArrow || choose();
  };
  field.onchange = () => isByArrow || choose();
  field.onblur = ({ relatedTarget }) => relatedTarget === byId("list") || choose(); // List does it.
}

/** A parameter of the query of the page shown. */
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

function searchText({ found, last, next }: Search): string {
  const count = found.length === 0 ? "None" : found.length;
  return `${count} found in animals 1 to ${last}${next === undefined ? " (end)" : ""}`;
}

/** @param others the animals after it */
function noAnimal(number: string, others: readonly Pet[]): string {
  const rest = others.length === 0 ? ", and none with a higher number" : "; these come after it";
  return `There is no animal ${number}${rest}.`;
}

/** The query of a page. An empty parameter, such as a page size before it is known, is left out. */
function query(parameters: Readonly<Record<string, string>>): string {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return given.size === 0 ? "" : `?${given}`;
}
