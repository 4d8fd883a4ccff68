/**
 * Keeps `process.nextTick` quick, which node:http calls several times a request.
 *
 * Node makes an object for each waiting tick, by a literal whose property names are computed. V8 remembers one hidden
 * class for such a literal, and weakly: a collection at a moment when no tick waits, as in an idle server, drops it.
 * The next tick brings another class, and from then on, for as long as the process lives, the literal is put together
 * by the runtime: a tick takes four times as long, a request an eighth more. One tick kept alive keeps the class.
 */

import { executionAsyncResource } from "node:async_hooks";

let kept: object | undefined;

/** To be called before the process is first idle. Calling again is fine. */
export function keepTickShape(): void {
  process.nextTick(() => {
    kept ??= executionAsyncResource();
  });
}
