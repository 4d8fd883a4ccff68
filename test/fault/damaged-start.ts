/**
 * A start on a simulated disk with a damaged log, for the tests of damage, and which bits they flip: a seventh of them,
 * others in each run. All of them: `BIT_STEP=1 node --test build/test/fault/damage*.test.js`.
 */

import { DamagedLogError, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { SeededRandom, seedFromEnvironment } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

export const dataDir = "/pets";
export const path = "/pets/pets.jsonl";

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
    const served = store.list({ after: 0, limit: 100, status: undefined }).json.toString();
    await store.close();
    return { served, refusal: undefined, reports, disk };
  } catch (error) {
    if (!(error instanceof DamagedLogError)) {
      throw error;
    }
    return { served: undefined, refusal: error.message, reports, disk };
  }
}

/** 7 and the bits of a byte have no divisor in common, so each place in a byte has its turn. */
const bitStep = Number(process.env["BIT_STEP"] ?? 7);
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
