/**
 * Logs and kinds of damage for damage.test.ts and damage-salvage.test.ts, and a start on a simulated disk with a damaged
 * log. Only some bits are flipped; all of them with `BIT_STEP=1 node --test build/test/fault/damage*.test.js`.
 */

import assert from "node:assert/strict";

import { type PetStatus, petStatuses } from "../../src/pets/pet.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { SeededRandom, seedFromEnvironment } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { always } from "../support/store-suites/suite-steps.ts";

export const dataDir = "/pets";
export const path = "/pets/pets.jsonl";

export const rex = { name: "Ø \"x\"", categoryId: -5n, status: "available" } as const;

/** The lines that a store writes, each with its newline. */
async function linesOf(random: SeededRandom, write: (store: JsonLinesPetStore) => Promise<void>): Promise<string[]> {
  const disk = new SimulatedDisk(random);
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  await write(store);
  await store.close();
  return disk.seen(path).toString().split(/(?<=\n)/);
}

/** Animals only, as of release 1.2. The last group is lines 7 to 9. */
export const animalLines: readonly string[] = await linesOf(new SeededRandom(1), async (store) => {
  for (const length of [1, 3, 2, 3]) {
    await Promise.all(Array.from({ length }, () => store.add(rex)));
  }
});

/** Animals, changes and corrections. The last group is lines 7 to 9, too. */
export const changeLines: readonly string[] = await linesOf(new SeededRandom(1), async (store) => {
  const change = (id: number, status: PetStatus, hash?: string) => store.change(id, { status }, always, hash);
  await Promise.all([store.add(rex), store.add(rex)]);
  await Promise.all([change(1, "pending", "c".repeat(22)), store.add(rex), store.add(rex, "a".repeat(22))]);
  await store.change(2, { name: "Max", status: "sold" }, always);
  await Promise.all([
    store.change(1, { categoryId: 7n, status: "sold" }, always, "b".repeat(22)), change(3, "sold"), change(2, "pending"),
  ]);
});
export const lastGroup = 7;

/** Animals and many changes and corrections, in more than a block of 4 KiB. */
export function longLines(random: SeededRandom): Promise<string[]> {
  return linesOf(random, async (store) => {
    for (let count = 1; count <= 60; count++) {
      await store.add({ ...rex, name: "x".repeat(random.integer(1, 40)) });
      const [id, status] = [random.integer(1, count), random.pick(petStatuses)];
      await store.change(id, random.oneIn(2) ? { status } : { status, name: "y".repeat(random.integer(1, 40)) }, always);
    }
  });
}

interface Line {
  readonly id: number;
  readonly name?: string;
  readonly version?: number;
  readonly [name: string]: unknown;
}

/**
 * What lines come to, each merged into the animal that it is about, if that is there: the animals with their versions,
 * of which each line makes one.
 */
export function animalsOf(lines: readonly string[]): string {
  const animals = new Map<number, { readonly version: number }>();
  for (const text of lines) {
    const { line: _line, group: _group, once: _once, at: _at, crc: _crc, ...members } = JSON.parse(text) as Line;
    const { id, name, version } = members;
    const before = animals.get(id);
    if (before !== undefined || (name !== undefined && version === undefined)) {
      animals.set(id, { ...before, ...members, version: version ?? (before?.version ?? 0) + 1 });
    }
  }
  return JSON.stringify([...animals.values()]);
}

/** The animals of a store as `animalsOf` says them. */
export function animalsIn(store: JsonLinesPetStore): string {
  const pets = JSON.parse(String(store.list({ after: 0, limit: 100, status: undefined }).json)) as { readonly id: number }[];
  return JSON.stringify(pets.map((pet) => ({ ...pet, version: store.get(pet.id)?.version })));
}

/** One damage of the kinds that disks and people cause. */
export function damageOnce(random: SeededRandom, content: Buffer): Buffer {
  const piece = new RegExp(random.pick(["[^]{1,64}", "[^]{1,512}", "[^]{1,4096}", ".*\n?"]), "g"); // Blocks or lines.
  const all: readonly string[] = content.toString("latin1").match(piece) ?? [];
  const [from, to] = [random.integer(0, all.length - 1), random.integer(0, all.length - 1)];
  const [one, other] = [all[from]!, all[to]!]; // Both are of the array.
  const damaged = random.pick([
    () => all.toSpliced(from, 1).toSpliced(to, 0, one), // Transferred.
    () => all.toSpliced(to, 0, one), // Doubled.
    () => all.with(to, one), // Written to another place, too.
    () => all.with(from, other).with(to, one), // Exchanged.
    () => all.with(from, "\0".repeat(one.length)), // A blank sector.
    () => all.toSpliced(from, 1), // Missing.
    () => [...all.slice(from), ...all.slice(0, from)], // Extents exchanged.
  ])();
  return Buffer.from(damaged.join(""), "latin1");
}

export interface Start {
  /** Undefined if the start was refused. */
  readonly served: string | undefined;
  readonly refusal: string | undefined;
  readonly reports: readonly string[];
  readonly disk: SimulatedDisk;
}

export async function start(content: Buffer): Promise<Start> {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, content);
  const reports: string[] = [];
  try {
    const store = await openPetStore({ disk: disk.boot(), dataDir, report: (message) => void reports.push(message) });
    const served = animalsIn(store);
    await store.close();
    return { served, refusal: undefined, reports, disk };
  } catch (error) {
    if (!(error instanceof DamagedLogError)) {
      throw error;
    }
    return { served: undefined, refusal: error.message, reports, disk };
  }
}

/** 31 and the bits of a byte have no divisor in common, so each place in a byte has its turn. */
const bitStep = Number(process.env["BIT_STEP"] ?? 31);
const firstBit = new SeededRandom(seedFromEnvironment()).integer(0, bitStep - 1);

export interface Flipped {
  readonly content: Buffer;
  /** Says which bit it was. */
  readonly about: string;
  /** Of the line that has the bit, from 0, and where it begins. */
  readonly index: number;
  readonly offset: number;
}

/** The log with one bit flipped, for each of the bits. */
export function* flippedBits(log: Buffer): Generator<Flipped> {
  for (let bit = firstBit; bit < log.length * 8; bit += bitStep) {
    const content = Buffer.from(log);
    content[bit >> 3]! ^= 1 << (bit & 7); // Within the log.
    const before = log.subarray(0, bit >> 3);
    const offset = before.lastIndexOf("\n") + 1;
    const index = before.toString("latin1").split("\n").length - 1;
    yield { content, about: `bit ${bit}`, index, offset };
  }
}
