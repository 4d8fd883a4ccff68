/**
 * The connections of the user's pool, and what their failures say of the database.
 *
 * It is *away* only if nothing works: no connection is in use, and a new one fails; or a statement got no answer in its
 * time, and no other one did since the moment that it was sent. Before that, a connection that is refused, ended or
 * silent fails its own caller at most, and the others share those that work. A server that only reads does not work.
 */

import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { DatabaseError, isTimeout, TimeoutError } from "./database-error.ts";
import type { DatabasePool, PoolClient } from "./pool.ts";

/** To open a connection, or until one is free. One begun while the database was away delays the recovery as long. */
const connectMs = 1_500;
/** Between two lines about the state. What it is by then counts. */
const stateLineMs = 10_000;
/** Between two lines about the same refusal. */
const refusalLineMs = 60_000;
/**
 * If all is well, the look for new key events is answered more often. So if a server is silent from one moment on, an
 * answer in the first second after a statement was sent says nothing of the others.
 */
const quietMs = 1_000;
/** No more connections are used than there are, after one was refused. */
const fullMs = 1_000;

export class Connections {
  readonly #pool: DatabasePool;
  readonly #report: Report;
  readonly #limit = new ConnectionLimit();
  /** Changed here only. */
  isAvailable = true;
  #heldCount = 0;
  /** When a connection was given back that goes on, by performance.now(); and when a server that writes answered. */
  #givenBackMs = -Infinity;
  #answeredMs = -Infinity;
  /** How often no statement was answered, and how often it had been when a connection was opened. */
  #lossCount = 0;
  readonly #lossCounts = new WeakMap<PoolClient, number>();
  readonly #opening = new Set<Promise<unknown>>();
  /** What the last line said, and when. */
  #told = { isAvailable: true, atMs: -Infinity };
  #failure: unknown;
  #stateTimer: NodeJS.Timeout | undefined;
  readonly #refusals = new Map<string, number>();

  constructor(pool: DatabasePool, report: Report) {
    this.#pool = pool;
    this.#report = report;
    pool.on("error", ignore); // A connection that breaks while nobody uses it: the pool drops it.
    pool.on("connect", listen);
  }

  /**
   * After a loss, older connections may be dead too: they are closed instead of tried.
   * @throws {DatabaseError} there is none
   */
  async take(): Promise<PoolClient> {
    const endMs = performance.now() + connectMs;
    for (;;) {
      const client = await this.#takeAny(endMs);
      const lossCount = this.#lossCounts.get(client) ?? this.#lossCount;
      this.#lossCounts.set(client, lossCount);
      if (lossCount === this.#lossCount) {
        return client;
      }
      this.giveBack(client, true);
    }
  }

  /** @param destroy closes it */
  giveBack(client: PoolClient, destroy: boolean): void {
    this.#heldCount -= 1;
    this.#givenBackMs = destroy ? this.#givenBackMs : performance.now();
    client.release(destroy);
    this.#limit.giveBack();
  }

  /** A server that writes has answered a statement. */
  noteAnswer(): void {
    this.#answeredMs = performance.now();
    this.#setAvailable(undefined);
  }

  /** A statement got no answer. */
  noteSilence(error: unknown, sentMs: number): void {
    if (this.#answeredMs < sentMs + quietMs) {
      this.#lossCount += 1;
      this.#setAvailable(error);
    } else {
      this.reportRefusal("a statement", "silent", error);
    }
  }

  /** A server has answered that it only reads. Others may work, as during a failover. */
  noteReplica(error: unknown): void {
    if (this.#answeredMs < performance.now() - quietMs) {
      this.#setAvailable(error);
    }
  }

  /** Every statement fails, wherever it is sent. */
  noteFailure(error: unknown): void {
    this.#setAvailable(error);
  }

  /**
   * The operator has to do something, as about a full disk or a missing right.
   * @param kind of which one line a minute is told
   */
  reportRefusal(what: string, kind: string, error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - (this.#refusals.get(kind) ?? -Infinity) > refusalLineMs) {
      this.#refusals.set(kind, nowMs);
      const said = isTimeout(error) ? "did not answer" : "refused";
      this.#report(`the database ${said} ${what}: ${messageOf(error)}`, "warning");
    }
  }

  close(): void {
    clearTimeout(this.#stateTimer);
    this.#pool.off("error", ignore);
    void Promise.allSettled(this.#opening).then(() => this.#pool.off("connect", listen));
  }

  async #takeAny(endMs: number): Promise<PoolClient> {
    for (;;) {
      await this.#limit.take(endMs);
      const beganMs = performance.now();
      const opening = this.#pool.connect();
      this.#opening.add(opening);
      opening.finally(() => this.#opening.delete(opening)).catch(ignore);
      try {
        const client = await within(endMs - beganMs, opening);
        listen(client); // The pool may be older than this object.
        this.#heldCount += 1;
        return client;
      } catch (error) {
        opening.then((client) => client.release(), ignore); // It may come too late.
        const isAlone = this.#heldCount === 0 && this.#givenBackMs < beganMs;
        if (!isAlone) {
          this.#limit.setFull(this.#heldCount); // Else there is nothing to share, and one that hangs would hold up all.
        }
        this.#limit.giveBack();
        if (isAlone) {
          this.#setAvailable(error);
          throw new DatabaseError("none", error);
        }
        this.reportRefusal("a connection", "connection", error);
        if (performance.now() >= endMs) {
          throw new DatabaseError("none", error);
        }
      }
    }
  }

  #setAvailable(failure: unknown): void {
    this.isAvailable = failure === undefined;
    this.#failure = failure;
    if (this.#stateTimer === undefined) {
      this.#tellState();
    }
  }

  #tellState(): void {
    this.#stateTimer = undefined;
    const { isAvailable } = this;
    if (isAvailable === this.#told.isAvailable) {
      return;
    }
    const nowMs = performance.now();
    const waitMs = this.#told.atMs + stateLineMs - nowMs;
    if (waitMs > 0) {
      this.#stateTimer = setTimeout(() => this.#tellState(), waitMs).unref();
      return;
    }
    this.#told = { isAvailable, atMs: nowMs };
    const unavailable = `the database cannot be used, requests get 503 until it can: ${messageOf(this.#failure)}`;
    this.#report(isAvailable ? "the database can be used again" : unavailable, isAvailable ? "info" : "warning");
  }
}

/**
 * The database may take fewer connections than the pool has room for, or none that is new. If it refuses one, then for
 * a second no more are used than there are, and callers wait until one is given back.
 */
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

  /** One that is too many is not for the next caller. */
  giveBack(): void {
    const [take] = this.#waiting;
    if (take === undefined || (this.usedCount > this.#usedMax && performance.now() <= this.#fullUntilMs)) {
      this.usedCount -= 1;
    } else {
      this.#waiting.delete(take);
      take();
    }
  }

  /** A connection was refused: those that are there are all that there may be, but for a second. */
  setFull(count: number): void {
    this.#usedMax = Math.max(1, count);
    this.#fullUntilMs = performance.now() + fullMs;
  }
}

/** Rejects if the promise takes longer. Its value, or failure, is then ignored. */
export async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    const seconds = Math.round(limitMs / 100) / 10;
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${seconds} s`)), limitMs);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The pool takes its own listener off before it hands a connection over, and an error may come in the same packet as
 * the end of the opening: without a listener it would end the process. So this one stays for the connection's life.
 * Whoever waits for a statement learns of the error from that.
 */
function listen(client: PoolClient): void {
  client.off("error", ignore);
  client.on("error", ignore);
}

function ignore(): void {}
