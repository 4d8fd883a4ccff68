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
      explain(call);
      return;
    }
    trail = pages;
    next = nextQuery(response.headers.get("Link"));
    table.list(body, given(trail, "status"));
    show();
    if (wanted !== undefined && body[0]?.id !== wanted) {
      const others = body.length === 0 ? ", and none with a higher number" : "; these come after it";
      notify("bad", `There is no animal ${wanted}${others}.`);
    }
  }

  function show(): void {
    setText("range", rangeText(table.pets, trail, next));
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
    setText("range", "");
  }

  const list = (): Promise<void> => openPages([query()]);
  onSubmit("list-form", list);
  const wanted = (): string => parseWholeNumber(byId<Field>("wanted").value) ?? "";
  onSubmit("find-form", () => (Number(wanted()) > 0 ? find(wanted()) : notify("bad", "Enter a number, such as 17.")));
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
function query(after = ""): string {
  const [limit, status] = [byId<Field>("limit").value, byId<Field>("list-status").value];
  const given = new URLSearchParams(Object.entries({ limit, status, after }).filter(([, value]) => value));
  return given.size === 0 ? "" : `?${given}`;
}
