import { isPercentEncoded } from "../base/texts.ts";
import { Faults, quote, type Validation } from "./faults.ts";
import { int64Max } from "./members.ts";
import type { PetQuery } from "./pet-store.ts";
import { isPetStatus, petStatuses, type PetStatus, statusProblem } from "./pet.ts";

export const limitMax = 100;
export const limitDefault = 20;

const parameterNames: readonly string[] = ["limit", "status", "after"];

/** A positive number, short enough to be exact as a double. */
const exactNumber = "[1-9][0-9]{0,14}";
const onlyExactNumber = new RegExp(`^${exactNumber}$`);

/** Matches nearly all queries: parameters in the order that the links have. Only the limit may be too large. */
const usualQuery = new RegExp(
  `^(?:limit=(${exactNumber})(?:&(?=[sa])|$))?` +
    `(?:status=(${petStatuses.join("|")})(?:&(?=a)|$))?(?:after=(0|${exactNumber}))?$`,
);

const defaultQuery: PetQuery = { after: 0, limit: limitDefault, status: undefined };

/**
 * Reads the text after `?` as application/x-www-form-urlencoded (WHATWG URL, 5.1); empty pairs (`&&`) are ignored.
 * Percent signs that are no percent-encoded UTF-8 are a fault, and so is a parameter that is unknown, repeated or
 * empty.
 */
export function readListQuery(query: string): Validation<PetQuery> {
  if (query === "") {
    return { kind: "valid", value: defaultQuery };
  }
  const usual = usualQuery.exec(query);
  if (usual !== null && Number(usual[1] ?? limitDefault) <= limitMax) {
    const [, limit = limitDefault, status, after = 0] = usual;
    const value = { after: Number(after), limit: Number(limit), status: status as PetStatus | undefined };
    return { kind: "valid", value };
  }
  const faults = new Faults();
  const given = readParameters(query, faults);
  // If one of these adds a fault, what it returns is not used.
  const limit = readLimit(given.get("limit"), faults);
  const status = readStatus(given.get("status"), faults);
  const after = readAfter(given.get("after"), faults);
  if (faults.count > 0) {
    return faults.invalid("The query is not valid");
  }
  return { kind: "valid", value: { after, limit, status } };
}

function readParameters(query: string, faults: Faults): ReadonlyMap<string, string> {
  if (query.includes("%")) {
    findBadEncodings(query, faults);
  }
  const given = new Map<string, string>();
  for (const [name, value] of pairsOf(query)) {
    if (!parameterNames.includes(name)) {
      faults.add(name, "is not a parameter of this operation");
    } else if (given.has(name)) {
      faults.add(name, "is repeated");
    } else if (value === "") {
      faults.add(name, "is empty");
    }
    given.set(name, value);
  }
  return given;
}

/** URLSearchParams would drop a `?` at the start, which here is part of a name. */
function pairsOf(query: string): URLSearchParams {
  return new URLSearchParams(`&${query}`);
}

/** Finds what URLSearchParams lets pass: it replaces bytes that are not UTF-8, and keeps a `%` that encodes nothing. */
function findBadEncodings(query: string, faults: Faults): void {
  for (const pair of query.split("&")) {
    if (!isPercentEncoded(pair)) {
      for (const name of pairsOf(pair).keys()) {
        faults.add(name, "is not percent-encoded UTF-8");
      }
    }
  }
}

function readLimit(text: string | undefined, faults: Faults): number {
  if (text === undefined) {
    return limitDefault;
  }
  const limit = onlyExactNumber.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > limitMax) {
    faults.add("limit", `must be an integer from 1 to ${limitMax}`);
  }
  return limit;
}

function readStatus(text: string | undefined, faults: Faults): PetStatus | undefined {
  if (text === undefined || isPetStatus(text)) {
    return text;
  }
  faults.add("status", statusProblem(quote(text)));
  return undefined;
}

function readAfter(text: string | undefined, faults: Faults): number {
  if (text === undefined) {
    return 0;
  }
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) > int64Max) {
    faults.add("after", `must be an integer from 0 to ${int64Max}`);
    return 0;
  }
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER); // No animal has an id beyond the safe integers.
}
