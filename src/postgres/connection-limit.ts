/**
 * The bound of the pool may be too high for the database. If that refuses a connection (SQLSTATE 53300), then for a
 * second no more are used than it accepted, and callers wait until one is given back.
 */

import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";

import { DatabaseError } from "./database-error.ts";

const fullMs = 1_000;

export class ConnectionLimit {
  /** Connections in use or being opened. Changed here only. */
  usedCount = 0;
  #usedMax = Infinity;
  #fullUntilMs = 0;
  /** Each gives the connection to a caller that waits, the first one first. */
  readonly #waiting = new Set<() => void>();

  /** @param endMs by performance.now() @throws {DatabaseError} no connection became free until then */
  async take(endMs: number): Promise<void> {
    if (this.usedCount < this.#usedMax || performance.now() > this.#fullUntilMs) {
      this.usedCount += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const take = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(take);
        reject(new DatabaseError("none", new Error("no connection became free")));
      }, endMs - performance.now());
      this.#waiting.add(take);
    });
  }

  giveBack(): void {
    const [take] = this.#waiting;
    if (take === undefined) {
      this.usedCount -= 1;
    } else {
      this.#waiting.delete(take);
      take();
    }
  }

  /** Call it after the refused connection was given back: those that are in use now are all that there may be. */
  setFull(): void {
    this.#usedMax = Math.max(1, this.usedCount);
    this.#fullUntilMs = performance.now() + fullMs;
  }
}
