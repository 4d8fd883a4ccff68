/**
 * The catalogue, a page at a time: forward by the `Link` of the response, back by the queries that led here. The table
 * is what the service has: it never leaves out an animal between two that it shows.
 */

import { acceptPress, onPress, onSubmit, setAtEnd } from "./buttons.ts";
import { nextQuery } from "./call-request.ts";
import { byId, type Field, notify, setText } from "./dom.ts";
import { isPet, parseWholeNumber, type Pet } from "./exact-json.ts";
import { PetTable } from "./pet-table.ts";
import { explain, type Session } from "./session.ts";

export type CatalogueView = ReturnType<typeof createCatalogueView>;

export function createCatalogueView(session: Session) {
  const table = new PetTable(session);
  const filter = byId<Field>("list-status");
  /** The queries from the first page to the one shown; empty if nothing is listed. */
  let trail: readonly string[] = [];
  let next: string | undefined;
  let asked = ""; // The filter that was listed, or was to be.

  /** @param wanted the number of the animal that the page should begin with */
  async function openPages(pages: readonly string[], wanted?: string): Promise<void> {
    asked = filter.value;
    const call = await session.request(`/pets${pages.at(-1)}`);
    const { response, body } = call;
    if (!response?.ok || !Array.isArray(body) || !body.every(isPet)) {
      notify("list-notice", "bad", ...explain(call));
      return;
    }
    trail = pages;
    next = nextQuery(response.headers.get("Link"));
    table.list(body, given(trail, "status"));
    show();
    notify("list-notice", ...pageNotice(body, wanted, given(trail, "status"), trail.length));
  }

  function show(): void {
    setText("range", rangeText(table.pets, given(trail, "status"), next));
    setAtEnd("back", trail.length < 2);
    setAtEnd("next", next === undefined);
  }

  /** Marks an animal that was just added. Returns whether it is shown: only right after the one before it. */
  function add(pet: Pet, isReplay: boolean): boolean {
    const before = BigInt(table.pets.at(-1)?.id ?? given(trail, "after") ?? 0);
    const isWhole = trail.length > 0 && next === undefined && given(trail, "status") === undefined;
    const isShown = isWhole && !isReplay && BigInt(pet.id) === before + 1n; // A replay says what it was then.
    table.markAdded(pet.id);
    if (isShown) {
      table.show([...table.pets, pet]);
      notify("list-notice", "");
      show();
    }
    return isShown;
  }

  /** Shows the animal, and those after it. */
  async function find(id: string): Promise<void> {
    filter.value = "";
    await openPages([...trail, query(`${BigInt(id) - 1n}`)], id);
    table.focus(id);
  }

  function forget(): void {
    [trail, next] = [[], undefined];
    table.list([]);
    table.markAdded("");
    show();
    notify("list-notice", "", "Enter a key, and the animals are listed here.");
  }

  const list = (): Promise<void> => openPages([query()]);
  onSubmit("list-form", list);
  const wanted = (): string => parseWholeNumber(byId<Field>("number").value) ?? "";
  const complain = (): void => notify("list-notice", "bad", "A number is such as 17.");
  onSubmit("find-form", () => (Number(wanted()) > 0 ? find(wanted()) : complain()));
  onPress("next", () => openPages([...trail, next ?? ""]));
  onPress("back", () => openPages(trail.slice(0, -1)));
  onChoice(filter, () => session.key && filter.value !== asked && acceptPress(byId("list")) && list());
  forget();
  return { list, add, find, forget };
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

function rangeText(pets: readonly Pet[], status: string | undefined, next: string | undefined): string {
  const [first, last] = [pets[0]?.id, pets.at(-1)?.id];
  const span = first === last ? `Animal ${first}` : `Animals ${first} to ${last}`;
  return first ? `${span}${status ? ` (${status})` : ""}${next === undefined ? ", the last" : ""}` : "";
}

type Notice = readonly [kind: "bad" | "", text: string];

function pageNotice(pets: readonly Pet[], wanted: string | undefined, status = "", pageCount: number): Notice {
  const isEmpty = pets.length === 0;
  if (wanted !== undefined && pets[0]?.id !== wanted) {
    return ["bad", `There is no animal ${wanted}; ${isEmpty ? "none after it" : "these come after it"}.`];
  }
  const all = status === "" ? "The catalogue is empty. Add its first animal." : `No animal is ${status}.`;
  return ["", !isEmpty ? "" : pageCount > 1 ? "No more animals." : all];
}

/** It has a page size, unless the description, which names the service's own, could not be read. */
function query(after = ""): string {
  const [limit, status] = [byId<Field>("limit").value, byId<Field>("list-status").value];
  const given = new URLSearchParams(Object.entries({ limit, status, after }).filter(([, value]) => value));
  return given.size === 0 ? "" : `?${given}`;
}
