/**
 * What clients send, judged by the rules of the contract's section 3: a value, or a message for the client that names
 * everything at fault. Nothing is put right and nothing is thrown.
 */

import { Faults } from "./faults.ts";
import type { Validation } from "./faults.ts";
import { readListParameters } from "./list-parameters.ts";
import type { PetQuery } from "./pet-store.ts";
import { int64Max, isPetStatus, statusProblem } from "./pet.ts";
import type { PetStatus } from "./pet.ts";
import { quote } from "./quote.ts";

export type { Validation } from "./faults.ts";

export const limitMax = 100;
export const limitDefault = 20;

const defaultQuery: Validation<PetQuery> = {
  kind: "valid",
  value: { after: 0, limit: limitDefault, status: undefined },
};

/**
 * The query of listPets, without its `?` (contract, section 3). How it is read, and what an empty parameter is, says
 * `readListParameters`; the defaults are `limitDefault`, any status, and after 0: from the start.
 */
export function validateListQuery(query: string): Validation<PetQuery> {
  if (query === "") {
    return defaultQuery;
  }
  const faults = new Faults();
  const parameters = readListParameters(query, faults);
  const limit = readLimit(parameters.limit, faults);
  const status = readStatusFilter(parameters.status, faults);
  const after = readAfter(parameters.after, faults);
  if (faults.count > 0) {
    return faults.invalid("The query is not valid");
  }
  return { kind: "valid", value: { after, limit, status } };
}

/** Where `faults` has gained one, a limit that must not be used. */
function readLimit(text: string | undefined, faults: Faults): number {
  if (text === undefined) {
    return limitDefault;
  }
  const limit = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > limitMax) {
    faults.add("limit", `must be an integer from 1 to ${limitMax}`);
  }
  return limit;
}

/** Where `faults` has gained one, undefined. */
function readStatusFilter(text: string | undefined, faults: Faults): PetStatus | undefined {
  if (text === undefined || isPetStatus(text)) {
    return text;
  }
  faults.add("status", statusProblem(quote(text)));
  return undefined;
}

/** No animal has an id beyond the safe integers, so none is missed by not asking beyond them. */
function readAfter(text: string | undefined, faults: Faults): number {
  if (text === undefined) {
    return 0;
  }
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(text) || (text.length === 19 && BigInt(text) > int64Max)) {
    faults.add("after", `must be an integer from 0 to ${int64Max}`);
    return 0;
  }
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

const zero = 0x30;

/**
 * The id that a path segment is: the canonical decimal of a positive safe integer, as every id that was ever given.
 * undefined: whatever it is, there is no such animal (contract, section 3: 404, never 400).
 * Read by hand: the text of `String(id)`, to compare with, would be kept by V8 (decimal.ts).
 */
export function validatePetId(segment: string): number | undefined {
  let id = 0;
  for (let index = 0; index < segment.length; index++) {
    const digit = segment.charCodeAt(index) - zero;
    if (digit < 0 || digit > 9 || (digit === 0 && index === 0)) {
      return undefined;
    }
    id = id * 10 + digit;
  }
  return id > 0 && Number.isSafeInteger(id) ? id : undefined;
}
