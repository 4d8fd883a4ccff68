/**
 * A child of lock.test.ts: `node lock-process.js PATH`. Says "ready", waits for a line on stdin, locks the name, says
 * "won" or "held", and holds what it won until stdin ends or it is killed.
 */

import { once } from "node:events";

import { lock } from "../../src/disk/lock.ts";

process.stdout.write("ready\n");
await once(process.stdin, "data");
const locked = await lock(process.argv[2] ?? "");
process.stdout.write(locked === undefined ? "held\n" : "won\n");
await once(process.stdin.resume(), "end");
await locked?.release();
