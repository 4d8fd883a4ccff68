/**
 * A child of lock.test.ts: `node lock-process.js PATH`. Says "ready", and for each line on stdin locks the name and says
 * "won" or "held". It holds what it won until stdin ends or it is killed.
 */

import { createInterface } from "node:readline";

import type { Lock } from "../../src/disk/disk.ts";
import { lock } from "../../src/disk/lock.ts";

process.stdout.write("ready\n");
const won: Lock[] = [];
for await (const _line of createInterface({ input: process.stdin })) {
  const locked = await lock(process.argv[2] ?? "");
  process.stdout.write(locked === undefined ? "held\n" : "won\n");
  won.push(...(locked === undefined ? [] : [locked]));
}
await Promise.all(won.map((locked) => locked.release()));
