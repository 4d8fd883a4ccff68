/**
 * A child of lock.test.ts: `node lock-process.js PATH`. Says "ready", waits for a line on stdin, claims the name, says
 * "won" or "held", and holds what it won until stdin ends or it is killed.
 */

import { once } from "node:events";

import { claim } from "../../src/disk/lock.ts";

process.stdout.write("ready\n");
await once(process.stdin, "data");
const claimed = await claim(process.argv[2] ?? "");
process.stdout.write(claimed === undefined ? "held\n" : "won\n");
await once(process.stdin.resume(), "end");
await claimed?.release();
