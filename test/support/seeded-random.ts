/**
 * Random numbers for tests, the same ones for the same seed.
 *
 * `test("…", seeded((random) => { … }))` draws a seed for each run, or takes it from the environment variable SEED. A
 * failure names the seed that replays it. The generator is a Weyl sequence (steps of 2^32 over the golden ratio) whose
 * terms go through a 32-bit finaliser: every seed has the full period of 2^32. Nothing secret may come from it.
 */

import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";

const seedEnd = 2 ** 32;

export class SeededRandom {
  #state: number;

  /** @param seed an integer from 0 to 2^32 - 1 */
  constructor(seed: number) {
    this.#state = seed;
  }

  /** An integer from 0 to 2^32 - 1. */
  uint32(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }

  /** An integer from `min` to `max`, both included; they are at most 2^32 - 1 apart. */
  integer(min: number, max: number): number {
    return min + Math.floor((this.uint32() / seedEnd) * (max - min + 1));
  }

  /** True once in `times`, on average. */
  oneIn(times: number): boolean {
    return this.integer(1, times) === 1;
  }

  /** @param items one at least */
  pick<Item>(items: ArrayLike<Item>): Item {
    // The index is below the length, so there is an item, whatever Item allows.
    return items[this.integer(0, items.length - 1)] as Item;
  }

  /** `count` results of `make`. */
  times<Item>(count: number, make: () => Item): Item[] {
    return Array.from({ length: count }, make);
  }
}

/** The environment variable SEED as a number; a random number if it is not set. */
export function seedFromEnvironment(): number {
  const text = process.env["SEED"] ?? "";
  return text === "" ? randomInt(seedEnd) : Number(text) >>> 0;
}

/** The function of a test that needs random numbers. What it throws is thrown on, with the seed in front. */
export function seeded(
  run: (random: SeededRandom, context: TestContext) => void | Promise<void>,
): (context: TestContext) => Promise<void> {
  return async (context) => {
    const seed = seedFromEnvironment();
    try {
      await run(new SeededRandom(seed), context);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`SEED=${seed} replays this: ${message}`, { cause });
    }
  };
}
