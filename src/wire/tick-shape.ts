/**
 * Keeps `process.nextTick` fast, which node:http calls several times a request.
 *
 * Node makes an object for each waiting tick, whose hidden class V8 holds weakly. A garbage collection while no tick
 * waits drops it, and then such objects are slow for the life of the process: a request takes 15 % more processor time.
 * One tick kept alive keeps the class. Only the program does this: in an embedding process it is not ours to decide.
 */

import { executionAsyncResource } from "node:async_hooks";

let kept: object | undefined;

/** Call it before the process is first idle. */
export function keepTickShape(): void {
  process.nextTick(() => {
    kept ??= executionAsyncResource();
  });
}
