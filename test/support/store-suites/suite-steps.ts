/** What the suites share: animals that differ, and steps of their tests. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";

import type {
  ChangeOutcome, JsonText, PetPage, PetQuery, PetStore, PetVersion, StoredPet,
} from "../../../src/pets/pet-store.ts";
import type { NewPet, PetStatus } from "../../../src/pets/pet.ts";
import { type Member, members, petStatuses } from "../../../src/pets/members.ts";
import type { Preconditions } from "../../../src/pets/precondition.ts";
import type { CreatePlace } from "./place.ts";

/** The query for all animals on one page. */
export const everything = { after: 0, limit: 100_000, status: undefined } as const;
/** The query for all animals, for `walk`. */
export const everyPage = { limit: 100, status: undefined } as const;

export const statuses: readonly PetStatus[] = petStatuses;
/** An animal that has only the members that it must have. */
export const rex: NewPet = petWith("available", (one) => (one.isOptional === true ? undefined : valueOf(one, 1)));

/** A change of the status, if the animal has one of these, or one of these states, such as `pending-7`. */
interface StatusChange {
  readonly status: PetStatus;
  readonly from: readonly string[];
}

export const reserve: StatusChange = { status: "pending", from: ["available"] };
export const toSold: StatusChange = { status: "sold", from: statuses };
export const free: StatusChange = { status: "available", from: statuses };

export function changeStatus(
  store: PetStore,
  id: number,
  { status, from }: StatusChange,
  hash?: string,
): Promise<ChangeOutcome> {
  return store.change(id, { status }, ifMatch(...from), hash);
}

export function ifMatch(...match: readonly string[]): Preconditions {
  return { match, noneMatch: [] };
}

/** Whatever the animal is. */
export const always: Preconditions = ifMatch(...statuses);

export async function openStore(context: TestContext, createPlace: CreatePlace): Promise<PetStore> {
  const place = await createPlace();
  const store = await place.open();
  context.after(async () => {
    await store.close();
    await place.remove();
  });
  return store;
}

export function hashOf(number: number): string {
  return `hash-${number}`.padEnd(22, "_");
}

/** Adds all of them at once. */
export function addAll(store: PetStore, pets: readonly NewPet[]): Promise<StoredPet[]> {
  return Promise.all(pets.map((pet) => store.add(pet)));
}

/** Animals that differ, so that one cannot pass for another. */
export function manyPets(count: number): NewPet[] {
  return idsFrom(1, count).map(petOf);
}

/** An animal by its number. Even ones have only the members that they must have. */
export function petOf(number: number): NewPet {
  const isShort = number % 2 === 0;
  return petWith(statuses[number % statuses.length] ?? "sold", (member) => {
    return isShort && member.isOptional === true ? undefined : valueOf(member, number);
  });
}

/** @param value of each member; undefined if the animal has none */
export function petWith(status: PetStatus, value: (member: Member) => string | bigint | undefined): NewPet {
  const entries = members.map((member) => [member.name, value(member)]).filter(([, given]) => given !== undefined);
  return { ...Object.fromEntries(entries), status } as NewPet; // It has what the table says.
}

export function valueOf({ kind, name }: Member, number: number): string | bigint {
  return kind === "text" ? `${name} ${number}` : BigInt(number);
}

/** Animals that have one unusual value each, for each member: values that may be lost or altered on their way. */
export function oddPets(): NewPet[] {
  return members.flatMap(({ name, kind }) => {
    return (kind === "text" ? oddTexts : int64s).map((value) => ({ ...rex, [name]: value }));
  });
}

const oddTexts = [
  "x",
  "x".repeat(255),
  "🐕".repeat(255),
  " a ",
  '"\\/{}[],:',
  "\u0001\u001f\t\r\n\u007f",
  "\u0001".repeat(255),
  "\u0080\u0085\u2028\u2029\ufeff\ufffd\uffff",
  "é e\u0301 小白 ﷽ \u202eabc \u{10ffff}",
  '","status":"sold","group":1,"crc":"00000000"}\n{"id":7',
  "__proto__",
];

const int64s = [0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];

export function idsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

/** The texts of all animals on the pages, in their order. */
export async function walk(
  store: PetStore,
  query: Omit<PetQuery, "after">,
): Promise<string[]> {
  const texts: string[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: PetPage = await store.list({ ...query, after });
    const inner = textOf(page.json).slice(1, -1);
    texts.push(...(inner === "" ? [] : inner.split(/(?<=\}),(?=\{)/)));
    assert.ok(page.nextAfter === undefined || page.nextAfter > after, "each page leads on");
    after = page.nextAfter;
  }
  return texts;
}

export async function assertPage(
  store: PetStore,
  query: PetQuery,
  expected: readonly (StoredPet | undefined)[],
  nextAfter: number | undefined,
): Promise<void> {
  const page = await store.list(query);
  const asked = JSON.stringify(query);
  assert.equal(textOf(page.json), `[${expected.map((pet) => textOf(pet?.json)).join(",")}]`, asked);
  assert.equal(page.nextAfter, nextAfter, asked);
}

export function textOf(found: JsonText | PetVersion | undefined): string {
  assert.ok(found !== undefined, "there is a text");
  const json = typeof found === "object" && "json" in found ? found.json : found;
  return typeof json === "string" ? json : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(json);
}

export function assertChanged(outcome: ChangeOutcome, expected: string, isReplay = false): void {
  assert.ok(outcome.kind === "changed", outcome.kind);
  assert.equal(textOf(outcome.json), expected);
  assert.equal(outcome.isReplay === true, isReplay, "whether an earlier change is said to have had this result");
}
