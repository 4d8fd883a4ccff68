/**
 * Finds animals by a part of their name. The service has no such filter, so a search reads the list page by page, from
 * the first animal on, and knows how far it has come. It shows nothing.
 */

import type { Pet } from "./exact-json.ts";
import { isScarce, readRate } from "./quota.ts";
import { type ApiCall, nextQuery, petsOf, type Session } from "./session.ts";

export interface Search {
  readonly text: string;
  readonly found: readonly Pet[];
  /** How many animals were looked at. */
  readonly count: number;
  /** The query of the page to go on with; undefined at the end of the catalogue. */
  readonly next: string | undefined;
}

/** The most pages that one press looks at. */
const pagesMax = 20;

/** @param filter of the list, as "&status=sold" */
export function newSearch(text: string, filter: string): Search {
  return { text, found: [], count: 0, next: `?limit=100${filter}` };
}

/**
 * Goes on for a press: by one page, and by more as long as the key has requests to spare.
 * @param progress is called between two pages
 * @returns how far it has come, and the call that failed, if one did
 */
export async function continueSearch(
  session: Session,
  begun: Search,
  progress: (search: Search) => void,
): Promise<{ search: Search; failed?: ApiCall }> {
  let search = begun;
  const isFound = (pet: Pet): boolean => comparable(pet.name).includes(comparable(begun.text));
  for (let pageCount = 1; search.next !== undefined; pageCount++) {
    const call = await session.request(`/pets${search.next}`);
    const pets = petsOf(call);
    if (pets === undefined) {
      return { search, failed: call };
    }
    const found = [...search.found, ...pets.filter(isFound)];
    search = { ...search, found, count: search.count + pets.length, next: nextQuery(call) };
    const rate = call.response && readRate(call.response.headers, Date.now());
    if (pageCount === pagesMax || rate === undefined || isScarce(rate)) {
      break;
    }
    progress(search);
  }
  return { search };
}

/** Equal for texts that differ only in case, accents or width. */
function comparable(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase();
}
