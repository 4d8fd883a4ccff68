import { Faults, quote, type Validation } from "./faults.ts";
import { toInt64 } from "./int64.ts";
import { decodeUtf8, type JsonMember, parseJson, readMembers } from "./json-members.ts";
import { int64Max, int64Min, type Member, members, type Text } from "./members.ts";
import { defaultPetStatus, isPetStatus, statusProblem } from "./pet.ts";
import type { NewPet, PetChange, PetStatus } from "./pet.ts";

/** `malformed`: the content is not JSON in UTF-8. The message is for the client, like that of `invalid`. */
export type Reading<Value> = Validation<Value> | { readonly kind: "malformed"; readonly message: string };

/**
 * Reads an animal to add. A byte order mark is allowed. A member that is missing, null, of the wrong type, unknown or
 * repeated is a fault. `id` counts as unknown, since the service assigns it.
 */
export function readNewPet(content: Uint8Array): Reading<NewPet> {
  return readObject<NewPet>(content, "NewPet", defaultPetStatus);
}

/** Reads a merge patch (RFC 7396), which sets at least one member, by the same rules. */
export function readPetChange(content: Uint8Array): Reading<PetChange> {
  return readObject<PetChange>(content, "PetChange");
}

/** @param absentStatus the status of a whole animal that names none; undefined for some members of an animal */
function readObject<Value extends PetChange>(
  content: Uint8Array,
  schema: string,
  absentStatus?: PetStatus,
): Reading<Value> {
  const text = decodeUtf8(content);
  if (text === undefined) {
    return { kind: "malformed", message: "The body is not UTF-8." };
  }
  const json = parseJson(text);
  if (json === undefined) {
    return { kind: "malformed", message: `The body is ${text.trim() === "" ? "empty" : "not well-formed JSON"}.` };
  }
  const { value } = json;
  if (!isObject(value)) {
    return { kind: "invalid", message: `The body must be an object (${schema}), received ${kindOf(value)}.` };
  }
  const faults = new Faults();
  const members = readMembers(text);
  if (members.length > Object.keys(value).length) {
    nameRepeated(members, faults);
  }
  const values = readValues(value, members, faults, absentStatus);
  if (absentStatus === undefined && members.length === 0) {
    faults.add("status", "is missing, as is every other property that can change: there must be one");
  }
  nameUnknown(members, schema, faults);
  return faults.count > 0
    ? faults.invalid(`The body is not a valid ${schema}`)
    : { kind: "valid", value: values as Value }; // It has what the table says.
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A member whose value is undefined is missing. If this adds a fault, what it returns is not used. */
function readValues(
  object: JsonObject,
  given: readonly JsonMember[],
  faults: Faults,
  absentStatus?: PetStatus,
): PetChange {
  const values: Record<string, unknown> = {};
  for (const member of members) {
    const value = object[member.name];
    if (value !== undefined) {
      values[member.name] = readMember(member, value, given, faults);
    } else if (absentStatus !== undefined && member.isOptional !== true) {
      faults.add(member.name, "is missing");
    }
  }
  const { status = absentStatus } = object;
  if (isPetStatus(status)) {
    values["status"] = status;
  } else if (status !== undefined) {
    faults.add("status", statusProblem(typeof status === "string" ? quote(status) : kindOf(status)));
  }
  return values;
}

function nameUnknown(given: readonly JsonMember[], schema: string, faults: Faults): void {
  for (const { name } of given) {
    if (name !== "status" && !names.has(name)) {
      faults.add(name, `is not a property of ${schema}`);
    }
  }
}

const names: ReadonlySet<string> = new Set(members.map(({ name }) => name));

function nameRepeated(members: readonly JsonMember[], faults: Faults): void {
  const names = new Set<string>();
  for (const { name } of members) {
    if (names.has(name)) {
      faults.add(name, "is repeated");
    }
    names.add(name);
  }
}

function readMember(member: Member, value: unknown, given: readonly JsonMember[], faults: Faults): unknown {
  return member.kind === "text"
    ? readText(member, value, faults)
    : readInteger(member, value, given.find(({ name }) => name === member.name)?.text ?? "", faults);
}

function readText(member: Text & Member, text: unknown, faults: Faults): unknown {
  const problem = typeof text === "string" ? textProblem(text, member) : `must be a string, received ${kindOf(text)}`;
  if (problem !== undefined) {
    faults.add(member.name, problem);
  }
  return text;
}

function readInteger({ name }: Member, value: unknown, text: string, faults: Faults): bigint | undefined {
  const integer = typeof value === "number" ? toInt64(text) : undefined;
  if (typeof value !== "number") {
    faults.add(name, `must be an integer, received ${kindOf(value)}`);
  } else if (integer === undefined) {
    faults.add(name, `must be an integer from ${int64Min} to ${int64Max}, received another number`);
  }
  return integer;
}

function textProblem(text: string, { codePointsMax }: Text): string | undefined {
  // Counted only if there may be too many: code units are never fewer than code points.
  const count = text.length > codePointsMax ? [...text].length : text.length;
  if (count === 0 || count > codePointsMax) {
    return `must have 1 to ${codePointsMax} characters, received ${count}`;
  }
  if (!text.isWellFormed()) {
    return "must be well-formed Unicode, received a lone surrogate";
  }
  if (text.includes("\0")) {
    return "must not contain U+0000";
  }
  // Not \s: U+FEFF is no White_Space, and U+0085 is.
  return /\P{White_Space}/u.test(text) ? undefined : "must not be white space only";
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
