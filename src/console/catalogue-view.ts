/** The catalogue, a page at a time: forward by the `Link` of the response, back by the queries that led here. */

import { nextQuery } from "./api-request.ts";
import { byId, type Field, notify, setText } from "./dom.ts";
import type { Pet } from "./exact-json.ts";
import { PetTable } from "./pet-table.ts";
import { onPress, onSubmit, setAtEnd } from "./press.ts";
import { explain, type Session } from "./session.ts";

interface Page {
  readonly query: string;
  /** How many animals come before it. */
  readonly offset: number;
}

export type CatalogueView = ReturnType<typeof createCatalogueView>;

export function createCatalogueView(session: Session) {
  /** From the first page to the one shown; empty if nothing is listed. */
  let trail: readonly Page[] = [];
  const table = new PetTable(session);
  let next: string | undefined;

  async function openPages(pages: readonly Page[]): Promise<void> {
    const exchange = await session.request(`/pets${pages.at(-1)?.query}`);
    const { response, body } = exchange;
    if (response?.ok === true && Array.isArray(body)) {
      trail = pages;
      table.list(body);
      next = nextQuery(response.headers.get("Link"));
      show();
    } else {
      notify("list-notice", "bad", ...explain(exchange));
    }
  }

  const offset = (): number => trail.at(-1)?.offset ?? 0;

  function given(name: string): string | null {
    return new URLSearchParams(trail.at(-1)?.query).get(name);
  }

  function show(): void {
    const end = offset() + table.pets.length;
    byId("pages").hidden = end === 0;
    setAtEnd("back", trail.length < 2);
    setAtEnd("next", next === undefined);
    setText("range", `${offset() + 1}–${end}${next === undefined ? ` of ${end}` : ""}`);
    notify("list-notice", "", end === 0 ? emptyText(given("status")) : "");
  }

  /** Marks an animal that was just added. Returns whether it stands on the page that is shown. */
  function add(pet: Pet): boolean {
    const { pets } = table;
    const isListed = pets.some(({ id }) => id === pet.id);
    const hasRoom = trail.length > 0 && next === undefined && pets.length < Number(given("limit"));
    const isOnPage = isListed || (hasRoom && (given("status") ?? pet.status) === pet.status);
    table.markAdded(pet.id);
    if (isOnPage) {
      table.show(isListed ? pets : [...pets, pet]);
      show();
    }
    return isOnPage;
  }

  async function open({ id }: Pet): Promise<void> {
    byId<Field>("list-status").value = "";
    await openPages([...trail, pageOf(BigInt(id), BigInt(given("limit") ?? 1))]);
    table.focus(id); // The pressed button is gone.
  }

  function forget(): void {
    [trail, next] = [[], undefined];
    table.list([]);
    table.markAdded("");
    show();
    notify("list-notice", "", "Enter a key, and the animals are listed here.");
  }

  const list = (): Promise<void> => openPages([{ query: formQuery(), offset: 0 }]);
  onSubmit("list-form", list);
  onPress("next", () => openPages([...trail, { query: next ?? "", offset: offset() + table.pets.length }]));
  onPress("back", () => openPages(trail.slice(0, -1)));
  forget();
  return { list, add, open, forget };
}

/** It has a page size, unless the description, which names the service's own, could not be read. */
function formQuery(): string {
  const fields = [["limit", byId<Field>("limit").value], ["status", byId<Field>("list-status").value]];
  const query = new URLSearchParams(fields.filter(([, value]) => value));
  return query.size === 0 ? "" : `?${query}`;
}

/** A page with the animal. Where ids have gaps, fewer animals than `offset` are before it. */
function pageOf(id: bigint, size: bigint): Page {
  const before = id - 1n - ((id - 1n) % size);
  return { query: `?limit=${size}&after=${before}`, offset: Number(before) };
}

function emptyText(status: string | null): string {
  return status === null ? "The catalogue is empty. Add its first animal." : `No animal is ${status}.`;
}
