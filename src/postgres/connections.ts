/**
 * The connections of the user's pool, and what their failures say of the database.
 *
 * It is *away* only if nothing works: no connection is in use, and a new one fails; or a statement got no answer, and
 * then no other connection gives one either. Before that, a connection that is refused, ended or silent fails its own
 * caller at most. A server that only reads does not work.
 */

import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { DatabaseError, isTimeout, TimeoutError } from "./database-error.ts";
import type { DatabasePool, PoolClient } from "./pool.ts";

/** To open a connection, or until one is free. One begun while the database was away delays the recovery as long. */
const connectMs = 1_500;
/** Between two tries for a connection, after one was refused. */
const connectPauseMs = 50;
/** How long the answer to a trial may take. */
export const trialMs = 1_000;
/** Between two lines about the same refusal. */
const refusalLineMs = 60_000;
/**
 * If all is well, the look for new key events is answered more often. So if a server is silent from one moment on, an
 * answer in the first second after a statement was sent says nothing of the others.
 */
const quietMs = 1_000;

export class Connections {
  readonly #pool: DatabasePool;
  readonly #report: Report;
  readonly #breaker: CircuitBreaker;
  #heldCount = 0;
  /** When a connection was given back that goes on, by performance.now(). */
  #givenBackMs = -Infinity;
  /** When a statement was answered, and when one that only a server that writes answers. */
  #answeredMs = -Infinity;
  #writerAnsweredMs = -Infinity;
  /** When no connection gave an answer. Those that were opened before may be dead. */
  #lostMs = -Infinity;
  readonly #openedMs = new WeakMap<PoolClient, number>();
  readonly #opening = new Set<Promise<unknown>>();
  readonly #refusals = new Map<string, number>();

  constructor(pool: DatabasePool, report: Report) {
    this.#pool = pool;
    this.#report = report;
    this.#breaker = new CircuitBreaker(report);
    pool.on("error", ignore); // A connection that breaks while nobody uses it: the pool drops it.
    pool.on("connect", listen);
  }

  get isAvailable(): boolean {
    return !this.#breaker.isOpen;
  }

  /** Closes connections that may be dead, instead of trying them. @throws {DatabaseError} there is none */
  async take(): Promise<PoolClient> {
    const endMs = performance.now() + connectMs;
    for (;;) {
      const client = await this.#takeAny(endMs);
      const openedMs = this.#openedMs.get(client) ?? performance.now();
      this.#openedMs.set(client, openedMs);
      if (openedMs >= this.#lostMs) {
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
  }

  /**
   * A statement was answered, if only by a refusal.
   * @param kind a replica, too, answers a read: that does not show that the database can be used
   */
  noteAnswer(kind: "read" | "write"): void {
    this.#answeredMs = performance.now();
    if (kind === "write") {
      this.#writerAnsweredMs = this.#answeredMs;
      this.#breaker.close();
    }
  }

  /** A statement is not answered. Unless another one was meanwhile, a trial decides whether the database is away. */
  async doubt(error: unknown, sentMs: number): Promise<void> {
    if (this.#answeredMs < sentMs + quietMs) {
      await this.#breaker.halfOpen(() => this.#try(error));
    }
  }

  async #try(error: unknown): Promise<void> {
    const beganMs = performance.now();
    await within(trialMs, this.#ask()).catch(ignore);
    if (this.#answeredMs >= beganMs) {
      this.#breaker.close();
    } else {
      this.#lostMs = performance.now();
      this.#breaker.open(error);
    }
  }

  async #ask(): Promise<void> {
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

  /** A server has answered that it only reads. Others may work, as during a failover. */
  noteReplica(error: unknown): void {
    if (this.#writerAnsweredMs < performance.now() - quietMs) {
      this.#breaker.open(error);
    }
  }

  /** Every statement fails, wherever it is sent. */
  noteFailure(error: unknown): void {
    this.#breaker.open(error);
  }

  /**
   * The operator has to do something, as about a full disk or a missing right.
   * @param kind one line a minute is written of each
   */
  reportRefusal(what: string, kind: string, error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - (this.#refusals.get(kind) ?? -Infinity) > refusalLineMs) {
      this.#refusals.set(kind, nowMs);
      const verb = isTimeout(error) ? "did not answer" : "refused";
      this.#report(`the database ${verb} ${what}: ${messageOf(error)}`, "warning");
    }
  }

  close(): void {
    this.#breaker.stop();
    this.#pool.off("error", ignore);
    void Promise.allSettled(this.#opening).then(() => this.#pool.off("connect", listen));
  }

  /** Where a new connection is refused, one that works may become free. */
  async #takeAny(endMs: number): Promise<PoolClient> {
    for (;;) {
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
        if (this.#heldCount === 0 && this.#givenBackMs < beganMs) {
          this.#breaker.open(error);
          throw new DatabaseError("none", error);
        }
        this.reportRefusal("a connection", "connection", error);
        if (performance.now() + connectPauseMs >= endMs) {
          throw new DatabaseError("none", error);
        }
        await delay(connectPauseMs);
      }
    }
  }
}

/** Rejects if the promise takes longer. Its value, or failure, is then ignored. */
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
 * The pool takes its own listener off before it hands a connection over, and an error may come in the same packet as
 * the end of the opening: without a listener it would end the process. So this one stays for the connection's life.
 * Whoever waits for a statement learns of the error from that.
 */
function listen(client: PoolClient): void {
  client.off("error", ignore);
  client.on("error", ignore);
}

function ignore(): void {}
