/**
 * Keeps `process.nextTick` fast, which node:http calls several times a request.
 *
 * Node makes an object for each waiting tick, by a literal with computed property names. V8 remembers one hidden class
 * for such a literal, weakly: a garbage collection while no tick waits, as in an idle server, drops it. The next tick
 * gets another class, and from then on the runtime builds every such object property by property, for the life of the
 * process: a request takes 15 % more processor time or more. One tick kept alive keeps the class.
 *
 * For the program alone: the process of an embedder is not changed.
 */

import { executionAsyncResource } from "node:async_hooks";

let kept: object | undefined;

/** Call it before the process is first idle. */
export function keepTickShape(): void {
  process.nextTick(() => {
    kept ??= executionAsyncResource();
  });
}
