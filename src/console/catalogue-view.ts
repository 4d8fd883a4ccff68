/**
 * The catalogue, a page at a time: forward by the `Link` of the response, back by the queries that led here.
 */

import { nextQuery } from "./api-address.ts";
import { byId, element, notify, onPress, onSubmit, setText, shown } from "./dom.ts";
import type { Pet } from "./exact-json.ts";
import { isKeyMissing } from "./key-view.ts";
import { explain, type Session } from "./session.ts";

export function startCatalogueView(session: Session): void {
  /** The queries of the pages from the first to the one shown. */
  let trail: readonly string[] = [];
  let next: string | undefined;

  async function open(queries: readonly string[]): Promise<void> {
    if (isKeyMissing(session)) {
      return;
    }
    const exchange = await session.request(`/pets${queries.at(-1)}`);
    const { response, body } = exchange;
    if (response?.ok === true && Array.isArray(body)) {
      trail = queries;
      next = nextQuery(response.headers.get("Link"));
      showPage(body, trail.length, next !== undefined);
    } else {
      notify("list-notice", "bad", ...explain(exchange));
    }
  }

  onSubmit("list-form", () => {
    const given = [["limit", byId("limit").value], ["status", byId("list-status").value]].filter(([, value]) => value);
    return open([given.length === 0 ? "" : `?${new URLSearchParams(given)}`]);
  });
  onPress("next", () => open([...trail, next ?? ""]));
  onPress("back", () => open(trail.slice(0, -1)));
}

function showPage(pets: readonly Pet[], page: number, hasNext: boolean): void {
  byId("pets").replaceChildren(...pets.map(petRow));
  byId("table").hidden = pets.length === 0;
  byId("pages").hidden = false;
  byId("back").ariaDisabled = String(page === 1);
  byId("next").ariaDisabled = String(!hasNext);
  setText("page", `Page ${page}`);
  const count = `Animals on this page: ${pets.length}. ${hasNext ? "There are more." : "It is the last."}`;
  notify("list-notice", "", pets.length + page > 1 ? count : emptyText(byId("list-status").value));
}

function emptyText(status: string): string {
  return status === "" ? "The catalogue is empty. Add its first animal below." : `No animal is ${status}.`;
}

function petRow({ id, name, categoryId, status }: Pet): HTMLElement {
  return element(
    "tr",
    element("td", id),
    element("td.name", element("bdi", ...shown(name))),
    element("td.number", categoryId),
    element("td", ...shown(status)),
  );
}
