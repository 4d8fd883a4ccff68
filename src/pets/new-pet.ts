import { Faults, quote, type Validation } from "./faults.ts";
import { toInt64 } from "./int64.ts";
import { decodeUtf8, type JsonMember, parseJson, readMembers } from "./json-members.ts";
import { defaultPetStatus, int64Max, int64Min, isPetStatus, nameCodePointsMax, statusProblem } from "./pet.ts";
import type { NewPet, PetStatus } from "./pet.ts";

/** `malformed`: the content is not JSON in UTF-8. The message is for the client, like that of `invalid`. */
export type Reading<Value> = Validation<Value> | { readonly kind: "malformed"; readonly message: string };

/**
 * A byte order mark is allowed. A member that is missing, null, of the wrong type, unknown or repeated is a fault. `id`
 * counts as unknown, since the service assigns it.
 */
export function readNewPet(content: Uint8Array): Reading<NewPet> {
  return readObject(content, "NewPet", validateNewPet);
}

/** Likewise, of a merge patch (RFC 7396) that may only set the status. */
export function readStatusChange(content: Uint8Array): Reading<PetStatus> {
  return readObject(content, "StatusChange", validateStatusChange);
}

type Validate<Value> = (object: JsonObject, members: readonly JsonMember[], faults: Faults) => Value;

function readObject<Value>(content: Uint8Array, schema: string, validate: Validate<Value>): Reading<Value> {
  const text = decodeUtf8(content);
  if (text === undefined) {
    return { kind: "malformed", message: "The content is not UTF-8." };
  }
  const json = parseJson(text);
  if (json === undefined) {
    return { kind: "malformed", message: `The content is ${text.trim() === "" ? "empty" : "not well-formed JSON"}.` };
  }
  const { value } = json;
  if (!isObject(value)) {
    return { kind: "invalid", message: `The content must be an object (${schema}), received ${kindOf(value)}.` };
  }
  const faults = new Faults();
  const members = readMembers(text);
  if (members.length > Object.keys(value).length) {
    nameRepeated(members, faults);
  }
  const valid = validate(value, members, faults);
  return faults.count > 0 ? faults.invalid(`The content is not a valid ${schema}`) : { kind: "valid", value: valid };
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A member whose value is undefined is missing. If a function below adds a fault, what it returns is not used. */
function validateNewPet(object: JsonObject, members: readonly JsonMember[], faults: Faults): NewPet {
  const name = readName(object["name"], faults);
  const categoryIdText = members.find((member) => member.name === "categoryId")?.text;
  const categoryId = readCategoryId(object["categoryId"], categoryIdText, faults);
  const status = readStatus(object["status"], faults);
  for (const member of members) {
    if (member.name !== "name" && member.name !== "categoryId" && member.name !== "status") {
      faults.add(member.name, "is not a member of NewPet");
    }
  }
  return { name, categoryId, status };
}

function validateStatusChange(object: JsonObject, members: readonly JsonMember[], faults: Faults): PetStatus {
  if (object["status"] === undefined) {
    faults.add("status", "is missing");
  }
  const status = readStatus(object["status"], faults);
  for (const { name } of members) {
    if (name === "id" || name === "name" || name === "categoryId") {
      faults.add(name, "never changes");
    } else if (name !== "status") {
      faults.add(name, "is not a member of StatusChange");
    }
  }
  return status;
}

function nameRepeated(members: readonly JsonMember[], faults: Faults): void {
  const names = new Set<string>();
  for (const { name } of members) {
    if (names.has(name)) {
      faults.add(name, "is repeated");
    }
    names.add(name);
  }
}

function readName(name: unknown, faults: Faults): string {
  if (typeof name !== "string") {
    faults.add("name", name === undefined ? "is missing" : `must be a string, received ${kindOf(name)}`);
    return "";
  }
  const problem = nameProblem(name);
  if (problem !== undefined) {
    faults.add("name", problem);
  }
  return name;
}

function nameProblem(name: string): string | undefined {
  // Counted only if there may be too many: code units are never fewer than code points.
  const count = name.length > nameCodePointsMax ? [...name].length : name.length;
  if (count === 0 || count > nameCodePointsMax) {
    return `must have 1 to ${nameCodePointsMax} characters, received ${count}`;
  }
  if (!name.isWellFormed()) {
    return "must be well-formed Unicode, received a lone surrogate";
  }
  if (name.includes("\0")) {
    return "must not contain U+0000";
  }
  // Not \s: U+FEFF is no White_Space, and U+0085 is.
  return /\P{White_Space}/u.test(name) ? undefined : "must not be white space only";
}

function readCategoryId(value: unknown, text: string | undefined, faults: Faults): bigint {
  if (typeof value !== "number" || text === undefined) {
    faults.add("categoryId", value === undefined ? "is missing" : `must be an integer, received ${kindOf(value)}`);
    return 0n;
  }
  const categoryId = toInt64(text);
  if (categoryId === undefined) {
    faults.add("categoryId", `must be an integer from ${int64Min} to ${int64Max}, received another number`);
    return 0n;
  }
  return categoryId;
}

function readStatus(value: unknown, faults: Faults): PetStatus {
  if (value === undefined) {
    return defaultPetStatus;
  }
  if (isPetStatus(value)) {
    return value;
  }
  faults.add("status", statusProblem(typeof value === "string" ? quote(value) : kindOf(value)));
  return defaultPetStatus;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) {
    return "null";
  }
  if (typeof value === "object") {
    return Array.isArray(value) ? "an array" : "an object";
  }
  return `a ${typeof value}`;
}
