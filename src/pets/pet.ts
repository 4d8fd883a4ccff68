/** The animal, its JSON text, and what is read from texts about it. What clients send is checked elsewhere. */

import { readMembers } from "./json-members.ts";
import { members, type NewPet, type PetStatus, petStatuses } from "./members.ts";

export { type NewPet, type PetStatus, petStatuses };

export const defaultPetStatus: PetStatus = "available";

export interface Pet extends NewPet {
  /** 1, 2, 3, … in the order of creation; never reused. */
  readonly id: number;
}

/** The members that get another value: at least one. */
export type PetChange = { readonly [Name in keyof NewPet]?: NewPet[Name] | undefined };

/** @internal */
export function isPetStatus(value: unknown): value is PetStatus {
  return petStatuses.includes(value as PetStatus);
}

/** @internal @param received what the client sent, fit for a message */
export function statusProblem(received: string): string {
  return `must be one of ${petStatuses.map((status) => `"${status}"`).join(", ")}, received ${received}`;
}

/**
 * The JSON text that a client receives, its members in the order of the specification. No other code writes this text,
 * be it for a client or for a file.
 */
export function petToJson(pet: Pet): string {
  return toJson(`{"id":${pet.id},`, pet);
}

/** @internal The JSON text without an id, as a client would send it to add the animal. */
export function newPetToJson(newPet: NewPet): string {
  return toJson("{", newPet);
}

function toJson(start: string, newPet: NewPet): string {
  let json = start;
  for (const { name, isText, before } of written) {
    const value = newPet[name];
    if (value !== undefined) {
      json += before + (isText ? JSON.stringify(value) : String(value)) + ",";
    }
  }
  return `${json}"status":"${newPet.status}"}`;
}

/** @internal An animal's text up to its status, as `petToJson` writes it, with other values. */
export function correctedText(text: string, change: PetChange): string {
  const present = new Map(readMembers(`${text}"}`).map((member) => [member.name, member.text]));
  let corrected = `{"id":${present.get("id")},`;
  for (const { name, isText, before } of written) {
    const value = change[name];
    const json = value === undefined ? present.get(name) : isText ? JSON.stringify(value) : String(value);
    corrected += json === undefined ? "" : `${before}${json},`;
  }
  return `${corrected}"status":"`;
}

const written = members.map(({ name, kind }) => ({ name, isText: kind === "text", before: `"${name}":` }));

/** @internal Returns undefined unless the segment is a positive safe integer: decimal, no sign, no leading zero. */
export function readPetId(segment: string): number | undefined {
  const id = /^[1-9][0-9]*$/.test(segment) ? Number(segment) : 0;
  return id > 0 && id <= Number.MAX_SAFE_INTEGER ? id : undefined;
}

/** The status in a text of `petToJson`. */
export function statusIn(json: string | Uint8Array): PetStatus {
  const text = typeof json === "string" ? json : Buffer.from(json).toString("latin1");
  return petStatuses.find((status) => text.endsWith(`,"status":"${status}"}`))!; // No other code writes the text.
}
