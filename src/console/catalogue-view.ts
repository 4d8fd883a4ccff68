/**
 * What is listed: a page of the catalogue, forward by the `Link` of the response, back by the queries that led here; or
 * what was searched for, by its number or a part of its name, until the person goes back to the list.
 */

import { acceptPress, onPress, onSubmit, setAtEnd } from "./buttons.ts";
import { byId, type Child, element, type Field, literal, notify, readCategory } from "./dom.ts";
import { isInt64, parseWholeNumber, type Pet } from "./exact-json.ts";
import { continueSearch, newSearch, type Search } from "./name-search.ts";
import { PetList } from "./pet-list.ts";
import { store, stored } from "./session-storage.ts";
import { type ApiCall, explain, nextQuery, petsOf, type Session } from "./session.ts";

/** The query of a first page begins so, and goes on with the filter. */
const first = "?limit=20";

export class CatalogueView {
  readonly list: PetList;
  readonly #session: Session;
  readonly #wanted = byId<Field>("wanted");
  readonly #category = byId<Field>("category-filter");
  readonly #statuses = [...document.querySelectorAll<Field>("#filter [type=radio]")];
  /** The queries from the first page to the one shown; empty if nothing is listed. */
  #pages: readonly string[] = [];
  #next: string | undefined;
  /** What was searched for, if that is shown instead of the last of the pages. */
  #search: Search | undefined;
  /** What the list, or a search by name, is filtered by, as "&status=sold&categoryId=7". */
  #filter = "";
  /** The filter that the fields showed last: the list's, or what was asked for, or none while a number is shown. */
  #fieldsFilter = "";

  constructor(session: Session, correct: (pet: Pet) => void) {
    this.#session = session;
    this.list = new PetList(session, correct);
    onSubmit("find-form", () => this.#find());
    onPress(byId("refresh"), () => (this.#readFilter() === this.#fieldsFilter ? this.#listAgain() : this.#find()));
    onPress(byId("next"), () => this.#open([...this.#pages, this.#next ?? ""]));
    onPress(byId("back"), () => this.#open(this.#pages.slice(0, -1)));
    onPress(byId("search-on"), () => this.#search && this.#findNames({ ...this.#search, found: this.list.pets }));
    onPress(byId("to-list"), () => this.#leave());
    this.#wanted.onfocus = () => this.#wanted.select(); // The next number takes the place of the last.
    this.#watchFilter(byId("filter"));
    this.#show([]);
  }

  /** Shows the first page. */
  start(): Promise<void> {
    return this.#open([first + stored("filter")]);
  }

  /** Shows the animal with the number, whatever its status and category. */
  async find(number: string): Promise<void> {
    const isPossible = isInt64(number) && BigInt(number) > 0n;
    const call = isPossible && (await this.#session.request(`/pets?after=${BigInt(number) - 1n}&limit=1`));
    const pets = call ? petsOf(call) : [];
    if (pets !== undefined) {
      this.#showSearch({ text: number, found: pets.filter(({ id }) => id === number), count: 0, next: undefined });
    } else if (call) {
      this.#fail(call);
    }
  }

  /**
   * Shows an animal that was added, if its place is at the end of the page shown. Unless it was added just now, right
   * after the one before it, the page is listed again: what lies between may be removed, or another till's.
   * @returns whether it is shown
   */
  async add(pet: Pet, isReplay = false): Promise<boolean> {
    const { pets } = this.list;
    const isEnd = this.#pages.length > 0 && this.#next === undefined && this.#search === undefined;
    if (!isEnd || !isIn(this.#filter, pet)) {
      return false;
    }
    if (!isReplay && BigInt(pet.id) === BigInt(pets.at(-1)?.id ?? 0) + 1n) {
      this.#show([...pets, pet], pet.id);
    } else {
      await this.#open(this.#pages, pet.id);
    }
    return this.list.pets.some(({ id }) => id === pet.id);
  }

  forget(): void {
    [this.#pages, this.#next, this.#search, this.#filter] = [[], undefined, undefined, ""];
    this.#wanted.value = "";
    this.#showFilter();
    this.#show([]);
  }

  /** Shows the page, or what was found, again. */
  #listAgain(): Promise<void> {
    const list = (): Promise<void> => (this.#pages.length === 0 ? this.start() : this.#open(this.#pages));
    return this.#search === undefined ? list() : this.#findText(this.#search.text);
  }

  /** Lists or searches what the fields ask for. */
  async #find(): Promise<void> {
    const text = this.#wanted.value.trim();
    const chosen = this.#readFilter();
    const filter = chosen === this.#fieldsFilter ? this.#filter : chosen;
    if (filter !== undefined) {
      await (text === "" ? this.#open([first + filter]) : this.#findText(text, filter));
    }
  }

  async #findText(text: string, filter = this.#filter): Promise<void> {
    const number = parseWholeNumber(text);
    await (number === undefined ? this.#findNames(newSearch(text, filter), filter) : this.find(number));
  }

  async #findNames(begun: Search, filter = this.#filter): Promise<void> {
    const progress = (soFar: Search): void => notify("wait", foundText(soFar));
    const { search, failed } = await continueSearch(this.#session, begun, progress);
    if (search !== begun && this.#session.key !== "") { // A key that was refused meanwhile is forgotten.
      this.#filter = filter;
      this.#showSearch(search);
    }
    notify("");
    if (failed !== undefined) {
      this.#fail(failed);
    }
  }

  /**
   * An arrow key chooses a status at each press, so by keyboard a choice counts at Enter, or when the fields are left;
   * but not by a press: that of a status, Find or Refresh lists by itself, and any other is to count instead.
   */
  #watchFilter(fields: HTMLElement): void {
    fields.onchange = ({ target }) => (target as Field).matches(":focus-visible, [inputmode]") || this.#choose();
    fields.onkeydown = ({ key }) => void (key === "Enter" && this.#choose());
    fields.addEventListener("focusout", ({ relatedTarget }) => {
      const pressed = document.querySelector("button:active, label:active");
      const isInside = [relatedTarget, document.activeElement].some((one) => fields.contains(one as Node | null));
      if (!isInside && pressed === null) { // Inside if only the window has lost the focus.
        this.#choose();
      } else if (!isInside && !pressed?.matches("#tools :is(.sends, label)")) {
        this.#showFilter();
      }
    });
  }

  /** Lists what the fields ask for, unless they show what is listed, or the press does not count. */
  #choose(): void {
    const chosen = this.#readFilter();
    if (chosen === undefined || chosen === this.#fieldsFilter || this.#session.key === "") {
      return;
    }
    if (!acceptPress(byId("refresh"))) {
      this.#showFilter();
      return;
    }
    if (parseWholeNumber(this.#wanted.value) !== undefined) {
      this.#wanted.value = "";
    }
    void this.#find();
    this.#fieldsFilter = chosen; // Not to be asked for again.
  }

  /** The filter in the fields; undefined if the category is wrong, as the page then says. */
  #readFilter(): string | undefined {
    const status = this.#statuses.find(({ checked }) => checked)?.value;
    this.#category.ariaInvalid = "false";
    const category = this.#category.value.trim() && readCategory(this.#category);
    const chosen = `${status && `&status=${status}`}${category && `&categoryId=${category}`}`;
    return category === undefined ? undefined : chosen;
  }

  /** From what was searched for to the list with its filter; or from a filtered list to that of all. */
  async #leave(): Promise<void> {
    this.#wanted.value = "";
    const page = first + (this.#search === undefined ? "" : this.#filter);
    await this.#open(this.#pages[0] === page ? this.#pages : [page]);
    if (byId("to-list").hidden) { // It had the focus.
      this.list.focus(this.list.pets[0]?.id ?? "");
    }
  }

  async #open(pages: readonly string[], markedId?: string): Promise<void> {
    const call = await this.#session.request(`/pets${pages.at(-1)}`);
    const pets = petsOf(call);
    if (pets === undefined) {
      this.#fail(call);
      return;
    }
    [this.#pages, this.#next, this.#search] = [pages, nextQuery(call), undefined];
    this.#filter = pages[0]?.slice(first.length) ?? "";
    store("filter", stored("key") && this.#filter);
    this.#showFilter();
    byId("page").scrollTop = 0; // The pressed button is below the list.
    this.#show(pets, markedId);
  }

  /** What is shown stays. */
  #fail(call: ApiCall): void {
    this.#showFilter();
    explain(call);
  }

  #showFilter(): void {
    this.#fieldsFilter = this.#search !== undefined && isNumber(this.#search) ? "" : this.#filter;
    const given = new URLSearchParams(this.#fieldsFilter);
    this.#statuses.forEach((one) => (one.checked = one.value === (given.get("status") ?? "")));
    this.#category.value = given.get("categoryId") ?? "";
    this.#category.ariaInvalid = "false";
  }

  #showSearch(search: Search): void {
    this.#search = search;
    this.#showFilter();
    this.#show(search.found);
    search.found.slice(0, 1).forEach(({ id }) => this.list.focus(id));
  }

  #show(pets: readonly Pet[], markedId?: string): void {
    const filter = this.#fieldsFilter;
    this.list.show(pets, (pet) => isIn(filter, pet), markedId);
    const search = this.#search && { ...this.#search, found: pets };
    const isSearch = search !== undefined;
    const isPaged = !isSearch && (this.#pages.length > 1 || this.#next !== undefined);
    byId("end").classList.toggle("empty", pets.length === 0);
    byId("range").replaceChildren(...(search === undefined ? this.#rangeText(pets) : searchText(search)));
    byId("back").hidden = byId("next").hidden = !isPaged;
    setAtEnd("back", this.#pages.length < 2);
    setAtEnd("next", this.#next === undefined);
    byId("search-on").hidden = search?.next === undefined;
    byId("to-list").hidden = !isSearch && (pets.length > 0 || filter === "");
    byId("to-list").textContent = isSearch ? "Back to the list" : "Show all animals";
  }

  /** What is listed, or why nothing is. */
  #rangeText(pets: readonly Pet[]): readonly Child[] {
    const [from, to] = [pets[0]?.id, pets.at(-1)?.id];
    if (from === undefined) {
      const { status = "", categoryId } = Object.fromEntries(new URLSearchParams(this.#filter));
      const none = `No ${status}${status && " "}animals${categoryId ? ` in category ${categoryId}` : ""}.`;
      const isBare = this.#filter === "" && this.#pages.length === 1;
      return [this.#pages.length === 0 ? "Nothing is listed yet. Press Refresh." : isBare ? "No animals yet." : none];
    }
    const time = new Date().toLocaleTimeString(undefined, { timeStyle: "short" });
    return [literal(from === to ? from : `${from}–${to}`), " ", element("small", `as of ${time}`)];
  }
}

/** Whether the animal passes the filter, whose parameters have the names of its members. */
function isIn(filter: string, pet: Pet): boolean {
  return [...new URLSearchParams(filter)].every(([name, value]) => pet[name] === value);
}

function isNumber({ text }: Search): boolean {
  return parseWholeNumber(text) !== undefined;
}

/** What was found, or that nothing was. */
function searchText(search: Search): readonly Child[] {
  const text = literal(search.text);
  if (search.found.length > 0) {
    return [foundText(search)];
  }
  const searched = `Animals searched${search.next === undefined ? "" : " so far"}: ${search.count}.`;
  return isNumber(search) ? ["There is no animal ", text, "."] : ["No name contains “", text, `”. ${searched}`];
}

function foundText({ found, count, next }: Search): string {
  return `${found.length} found${next === undefined ? "" : ` in ${count} animals so far`}`;
}
