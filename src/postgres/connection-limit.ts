/**
 * How many connections may be in use. The pool has a bound of its own. If the database refuses one below it (53300), no
 * more are used for a second than it has taken, and who needs one waits.
 */

import { DatabaseError } from "./database-error.ts";

const fullMs = 1_000;

export class ConnectionLimit {
  #usedCount = 0;
  #usedMax = Infinity;
  #fullUntilMs = 0;
  /** The first is called when a connection is given back. */
  readonly #waiting = new Set<() => void>();

  /** Of connections in use or being opened. */
  get usedCount(): number {
    return this.#usedCount;
  }

  /** @param endMs by performance.now() @throws {DatabaseError} no connection became free until then */
  async take(endMs: number): Promise<void> {
    if (this.#usedCount < this.#usedMax || performance.now() > this.#fullUntilMs) {
      this.#usedCount += 1;
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

  /** The first that waits has it then. */
  giveBack(): void {
    const [take] = this.#waiting;
    if (take === undefined) {
      this.#usedCount -= 1;
    } else {
      this.#waiting.delete(take);
      take();
    }
  }

  /** Says that the database takes no more connections. */
  setFull(): void {
    this.#usedMax = Math.max(1, this.#usedCount);
    this.#fullUntilMs = performance.now() + fullMs;
  }
}
