/**
 * The connections of the user's pool, and what their failures say of the database.
 *
 * The database is *away* only if nothing works: no connection is in use, and a new one fails; or a statement got no
 * answer, and then no other connection gives one either; or the server only reads. Otherwise a connection that is
 * refused, ended or silent fails nobody but its own caller.
 */

import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import type { Report } from "../base/report.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { DatabaseError, TimeoutError } from "./database-error.ts";
import type { DatabasePool, PoolClient } from "./pool.ts";
import type { Refusals } from "./refusals.ts";

/**
 * How long to wait for a new or free connection. Short, because a wait that began while the database was away must end
 * before the next try can succeed.
 */
const connectMs = 1_500;
/** The pause between two tries for a connection, after one was refused. */
const connectPauseMs = 50;
/** How long the answer to a trial may take. */
export const trialMs = 1_000;
/**
 * For so long after a statement was sent, answers to others do not show that the server still works: it may have fallen
 * silent since. If all is well, the poll for key events is answered more often than this.
 */
const quietMs = 1_000;

export class Connections {
  readonly #pool: DatabasePool;
  readonly #refusals: Refusals;
  readonly #breaker: CircuitBreaker;
  /** How many connections are in use. */
  #heldCount = 0;
  /** When a connection was last given back in working order, by performance.now(). */
  #givenBackMs = -Infinity;
  /** When any statement was last answered. */
  #answeredMs = -Infinity;
  /** When a statement was last answered that a replica would refuse. */
  #writerAnsweredMs = -Infinity;
  /** When a trial last failed. Connections that were opened before may be dead. */
  #trialFailedMs = -Infinity;
  /** When each connection was first taken. */
  readonly #openedMs = new WeakMap<PoolClient, number>();
  /** The calls for a connection that the pool has not answered yet. */
  readonly #opening = new Set<Promise<unknown>>();

  constructor(pool: DatabasePool, report: Report, refusals: Refusals) {
    this.#pool = pool;
    this.#refusals = refusals;
    this.#breaker = new CircuitBreaker(report);
    pool.on("error", ignore); // An unused connection has broken: the pool drops it by itself.
    pool.on("connect", ignoreErrorsOf);
  }

  get isAvailable(): boolean {
    return !this.#breaker.isOpen;
  }

  /** Closes connections that may be dead, instead of trying them. @throws {DatabaseError} none can be had */
  async take(): Promise<PoolClient> {
    const endMs = performance.now() + connectMs;
    for (;;) {
      const client = await this.#takeAny(endMs);
      const openedMs = this.#openedMs.get(client) ?? performance.now();
      this.#openedMs.set(client, openedMs);
      if (openedMs >= this.#trialFailedMs) {
        return client;
      }
      this.giveBack(client, true);
    }
  }

  /** @param destroy closes the connection */
  giveBack(client: PoolClient, destroy: boolean): void {
    this.#heldCount -= 1;
    this.#givenBackMs = destroy ? this.#givenBackMs : performance.now();
    client.release(destroy);
  }

  /**
   * A statement was answered, if only by a refusal.
   * @param kind "read" if a replica could have answered, which does not show that the database can be used
   */
  noteAnswer(kind: "read" | "write"): void {
    this.#answeredMs = performance.now();
    if (kind === "write") {
      this.#writerAnsweredMs = this.#answeredMs;
      this.#breaker.close();
    }
  }

  /** A statement has had no answer. If no other one was answered late enough, a trial decides. */
  async doubt(error: unknown, sentMs: number): Promise<void> {
    if (this.#answeredMs < sentMs + quietMs) {
      await this.#breaker.halfOpen(() => this.#runTrial(error));
    }
  }

  /**
   * A trial is bounded twice: as a whole, because the wait for a connection may be longer; in its statement, because a
   * connection without an answer has to be closed even if the trial is over by then.
   */
  async #runTrial(error: unknown): Promise<void> {
    const beganMs = performance.now();
    await within(trialMs, this.#askOnce()).catch(ignore);
    if (this.#answeredMs >= beganMs) {
      this.#breaker.endTrial();
    } else {
      this.#trialFailedMs = performance.now();
      this.#breaker.open(error);
    }
  }

  async #askOnce(): Promise<void> {
    const client = await this.take();
    let isAnswered = false;
    try {
      await within(trialMs, client.query({ text: "SELECT 1", values: [] }));
      isAnswered = true;
      this.noteAnswer("read");
    } finally {
      this.giveBack(client, !isAnswered);
    }
  }

  /** A server answered that it only reads. During a failover, another one may still write. */
  noteReplica(error: unknown): void {
    if (this.#writerAnsweredMs < performance.now() - quietMs) {
      this.#breaker.open(error);
    }
  }

  /** A statement failed as all others would, whichever connection they are sent on. */
  noteFailure(error: unknown): void {
    this.#breaker.open(error);
  }

  close(): void {
    this.#breaker.stop();
    this.#pool.off("error", ignore);
    void Promise.allSettled(this.#opening).then(() => this.#pool.off("connect", ignoreErrorsOf));
  }

  /** Tries again if a new connection is refused, because one that works may become free. */
  async #takeAny(endMs: number): Promise<PoolClient> {
    for (;;) {
      const beganMs = performance.now();
      const opening = this.#pool.connect();
      this.#opening.add(opening);
      opening.finally(() => this.#opening.delete(opening)).catch(ignore);
      try {
        const client = await within(endMs - beganMs, opening);
        ignoreErrorsOf(client); // The pool may have opened it before this object was made.
        this.#heldCount += 1;
        return client;
      } catch (error) {
        opening.then((client) => client.release(), ignore); // A connection that comes too late is not lost.
        if (this.#heldCount === 0 && this.#givenBackMs < beganMs) {
          this.#breaker.open(error);
          throw new DatabaseError("none", error);
        }
        this.#refusals.report("a connection", "connection", error);
        if (performance.now() + connectPauseMs >= endMs) {
          throw new DatabaseError("none", error);
        }
        await delay(connectPauseMs);
      }
    }
  }
}

/** Rejects if the promise takes longer than the limit. What becomes of the promise is then ignored. */
export async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(noAnswer(limitMs)), limitMs);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

export function noAnswer(limitMs: number): TimeoutError {
  return new TimeoutError(`no answer within ${Math.round(limitMs / 100) / 10} s`);
}

/**
 * The pool removes its own listener before it hands a connection over, and an error may come in the same packet as the
 * end of the opening: without a listener it would end the process. So this one stays for the connection's life. A
 * caller that waits for a statement learns of the error because its statement fails.
 */
function ignoreErrorsOf(client: PoolClient): void {
  client.off("error", ignore);
  client.on("error", ignore);
}

function ignore(): void {}
