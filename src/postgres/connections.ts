/**
 * The connections of the user's pool, and whether the database answers.
 *
 * The database is *away* if it has left statements without an answer for `awayMs`, and answered no other meanwhile. The
 * poll for key events sends one every 250 ms, so that this shows even if no request comes, and when it is back. A read
 * is no answer: a replica has it, too. A connection that is refused, ended or silent fails nobody but its caller.
 */

import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { DatabaseError, TimeoutError } from "./database-error.ts";
import type { DatabasePool, PoolClient } from "./pool.ts";
import type { Refusals } from "./refusals.ts";

const awayMs = 2_000;
/** How long a new connection may take if the pool does not say. */
export const connectMsDefault = 3_000;
/** How long a request waits for a connection unless others are answered meanwhile. */
const requestMs = 3_000;
/** As long while the database is away: the connection that is under way when it is back may never come. */
const awayTryMs = 1_500;
/** How often it is looked whether others are answered. */
const lookMs = 250;
/** The pause between two tries for a connection, after one was refused: one that works may become free. */
const connectPauseMs = 50;

export class Connections {
  readonly #pool: DatabasePool;
  /** How long a new or free connection may take. */
  readonly #longestMs: number;
  readonly #refusals: Refusals;
  #report: Report;
  /** When the first statement was sent after the last answer; undefined if none was. By performance.now(). */
  #silentSinceMs: number | undefined;
  /** Connections that were opened before may be dead: later a statement failed while the database was away. */
  #lostMs = -Infinity;
  #hasAnswered = false;
  #isSaidAway = false;
  readonly #openedMs = new WeakMap<PoolClient, number>();
  /** The calls for a connection that the pool has not answered yet. */
  readonly #opening = new Set<Promise<unknown>>();

  /** @param report takes a line when the database is away, and when it is back */
  constructor(pool: DatabasePool, report: Report, refusals: Refusals) {
    this.#pool = pool;
    const poolMs = pool.options?.connectionTimeoutMillis || connectMsDefault; // 0 is no bound.
    this.#longestMs = poolMs + lookMs; // The pool's own error says more.
    this.#refusals = refusals;
    this.#report = report;
    pool.on("error", ignore); // An unused connection has broken: the pool drops it by itself.
    pool.on("connect", this.#onConnect);
  }

  get isAvailable(): boolean {
    return performance.now() - (this.#silentSinceMs ?? Infinity) < awayMs;
  }

  /** @throws {DatabaseError} none can be had */
  async take(): Promise<PoolClient> {
    const beganMs = performance.now();
    for (;;) {
      const opening = this.#pool.connect();
      this.#opening.add(opening);
      opening.finally(() => this.#opening.delete(opening)).catch(ignore);
      try {
        const client = await this.#opened(opening, beganMs);
        if (!this.#openedMs.has(client)) {
          this.#onConnect(client); // The pool opened it before this object was made.
        }
        if (Number(this.#openedMs.get(client)) >= this.#lostMs) {
          return client;
        }
        client.release(true);
      } catch (error) {
        opening.then((client) => client.release(), ignore); // A connection that comes too late is not lost.
        if ((this.#silentSinceMs ?? Infinity) > beganMs) { // Others were answered meanwhile.
          this.#refusals.report("a connection", "connection", error);
        }
        const isHopeful = this.#hasAnswered && this.isAvailable;
        const isOver = performance.now() + connectPauseMs >= beganMs + Math.min(this.#longestMs, requestMs);
        if (!isHopeful || error instanceof TimeoutError || isOver) {
          throw new DatabaseError("none", error);
        }
        await delay(connectPauseMs);
      }
    }
  }

  /** Slow is not away: while others are answered, a connection may take as long as the pool allows. */
  async #opened(opening: Promise<PoolClient>, beganMs: number): Promise<PoolClient> {
    const opened = (waitMs: number) => within(beganMs + waitMs - performance.now(), opening, waitMs);
    const firstMs = this.isAvailable ? requestMs : awayTryMs;
    for (let waitMs = firstMs; waitMs + lookMs < this.#longestMs; waitMs += lookMs) {
      try {
        return await opened(waitMs);
      } catch (error) {
        if (!(error instanceof TimeoutError) || !this.isAvailable) {
          throw error;
        }
      }
    }
    return opened(this.#longestMs);
  }

  noteSent(): void {
    this.#silentSinceMs ??= performance.now();
  }

  /** A statement was answered, if only by a refusal. */
  noteAnswer(): void {
    this.#hasAnswered = true;
    this.#silentSinceMs = undefined;
    if (this.#isSaidAway) {
      this.#isSaidAway = false;
      this.#report("the database can be used again", "info");
    }
  }

  /**
   * A statement had no answer, or failed as all others would.
   * @param sinceMs no connection that was opened later is any worse for that
   */
  noteFailure(error: unknown, sinceMs: number): void {
    if (!this.isAvailable) {
      this.#lostMs = sinceMs;
      if (!this.#isSaidAway) {
        this.#isSaidAway = true;
        this.#report(`the database cannot be used, requests get 503 until it can: ${messageOf(error)}`, "warning");
      }
    }
  }

  close(): void {
    this.#report = ignore;
    this.#pool.off("error", ignore);
    void Promise.allSettled(this.#opening).then(() => this.#pool.off("connect", this.#onConnect));
  }

  /**
   * The pool removes its own listener for errors before it hands a connection over, and one may come in the same packet
   * as the end of the opening: without a listener it would end the process. So this one stays for the connection's
   * life. A caller that waits for a statement learns of the error because its statement fails.
   */
  readonly #onConnect = (client: PoolClient): void => {
    this.#openedMs.set(client, performance.now());
    client.off("error", ignore);
    client.on("error", ignore);
  };
}

/**
 * Rejects if the promise takes longer than the limit. What becomes of the promise is then ignored.
 * @param waitedMs what the error says, if the wait began earlier
 */
export async function within<Value>(limitMs: number, promise: Promise<Value>, waitedMs = limitMs): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    const message = `no answer within ${Math.round(waitedMs / 100) / 10} s`;
    timer = setTimeout(() => reject(new TimeoutError(message)), limitMs);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}
