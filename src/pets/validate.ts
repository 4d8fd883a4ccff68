/**
 * What clients send, judged by the rules of the contract's section 3: a value, or a message for the client that names
 * everything at fault. Nothing is put right and nothing is thrown.
 */

import { Faults } from "./faults.ts";
import type { Validation } from "./faults.ts";
import { JsonNumber, JsonObject, toInt64 } from "./json.ts";
import type { JsonValue } from "./json.ts";
import { readListParameters } from "./list-parameters.ts";
import type { PetQuery } from "./pet-store.ts";
import { defaultPetStatus, int64Max, int64Min, nameCodePointsMax, petStatuses } from "./pet.ts";
import type { NewPet, PetStatus } from "./pet.ts";
import { quote } from "./quote.ts";

export type { Validation } from "./faults.ts";

export const limitMax = 100;
export const limitDefault = 20;

/**
 * The body of createPet (specification, "NewPet"; contract, section 3). `status` defaults to `defaultPetStatus`; of
 * a repeated member no value counts. `id` is the service's to give, and as unknown here as every other name.
 */
export function validateNewPet(content: JsonValue): Validation<NewPet> {
  if (!(content instanceof JsonObject)) {
    return { kind: "invalid", message: `The content must be an object (NewPet), received ${kindOf(content)}.` };
  }
  const faults = new Faults();
  content.repeatedNames.forEach((name) => faults.add(name, "is repeated"));
  const name = readName(content.members.get("name"), faults);
  const categoryId = readCategoryId(content.members.get("categoryId"), faults);
  const status = readStatus(content.members.get("status"), faults);
  for (const member of content.members.keys()) {
    if (member !== "name" && member !== "categoryId" && member !== "status") {
      faults.add(member, "is not a member of NewPet");
    }
  }
  if (faults.count > 0) {
    return faults.invalid("The content is not a valid NewPet");
  }
  return { kind: "valid", value: { name, categoryId, status } };
}

/** The name; where `faults` has gained one, a name that must not be used. */
function readName(value: JsonValue | undefined, faults: Faults): string {
  if (typeof value !== "string") {
    faults.add("name", value === undefined ? "is missing" : `must be a string, received ${kindOf(value)}`);
    return "";
  }
  const problem = nameProblem(value);
  if (problem !== undefined) {
    faults.add("name", problem);
  }
  return value;
}

function nameProblem(name: string): string | undefined {
  const codePoints = codePointCount(name);
  if (codePoints === 0 || codePoints > nameCodePointsMax) {
    return `must have 1 to ${nameCodePointsMax} characters, received ${codePoints}`;
  }
  if (/\p{Surrogate}/u.test(name)) {
    return "must be well-formed Unicode, received a lone surrogate";
  }
  if (name.includes("\0")) {
    return "must not contain U+0000";
  }
  // Not \s: U+FEFF is no White_Space, and U+0085 is.
  return /\P{White_Space}/u.test(name) ? undefined : "must not be white space only";
}

function codePointCount(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1) {
    count += 1;
  }
  return count;
}

/** The category; where `faults` has gained one, a number that must not be used. */
function readCategoryId(value: JsonValue | undefined, faults: Faults): bigint {
  if (!(value instanceof JsonNumber)) {
    faults.add("categoryId", value === undefined ? "is missing" : `must be an integer, received ${kindOf(value)}`);
    return 0n;
  }
  const categoryId = toInt64(value);
  if (categoryId === undefined) {
    faults.add("categoryId", `must be an integer from ${int64Min} to ${int64Max}, received another number`);
    return 0n;
  }
  return categoryId;
}

/** The status; where `faults` has gained one, a status that must not be used. */
function readStatus(value: JsonValue | undefined, faults: Faults): PetStatus {
  if (value === undefined) {
    return defaultPetStatus;
  }
  if (isPetStatus(value)) {
    return value;
  }
  faults.add("status", statusProblem(typeof value === "string" ? quote(value) : kindOf(value)));
  return defaultPetStatus;
}

function isPetStatus(value: JsonValue): value is PetStatus {
  // includes() asks for a PetStatus, which is what is to be found out.
  return petStatuses.includes(value as PetStatus);
}

function statusProblem(received: string): string {
  return `must be one of ${petStatuses.map(quote).join(", ")}, received ${received}`;
}

/** For a message to people. */
function kindOf(value: JsonValue): string {
  if (value === null) {
    return "null";
  }
  if (typeof value === "string" || typeof value === "boolean") {
    return `a ${typeof value}`;
  }
  if (value instanceof JsonNumber) {
    return "a number";
  }
  return value instanceof JsonObject ? "an object" : "an array";
}

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
