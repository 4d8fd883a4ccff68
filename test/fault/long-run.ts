/**
 * As many random histories as one likes (history.ts), and what happened in them:
 *
 *     npm run build && npx tsc -p test && node build/test/fault/long-run.js 100000 [SEED]
 */

import { randomInt } from "node:crypto";

import { SeededRandom } from "../support/seeded-random.ts";
import { History, noCounts } from "./history.ts";

const [, , countText = "100000", seedText] = process.argv;
const firstSeed = seedText === undefined ? randomInt(2 ** 32) : Number(seedText);
const counts = noCounts();
const random = new SeededRandom(firstSeed);
for (let index = 0; index < Number(countText); index++) {
  const seed = index === 0 && countText === "1" ? firstSeed : random.uint32();
  try {
    await new History(new SeededRandom(seed), counts).run();
  } catch (error) {
    console.error(`replay with: long-run.js 1 ${seed}`);
    throw error;
  }
}
console.log(`${countText} histories from seed ${firstSeed}: ${JSON.stringify(counts)}`);
