/**
 * Random bytes for tests of keys: the same ones for the same seed, so they are no real secrets.
 */

import type { RandomBytes } from "../../src/keys/key.ts";
import { SeededRandom } from "./seeded-random.ts";

export function seededBytes(seed: number): RandomBytes {
  const random = new SeededRandom(seed);
  return (byteCount) => Uint8Array.from({ length: byteCount }, () => random.integer(0, 255));
}
