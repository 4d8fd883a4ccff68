/**
 * Runs statements on a pool. While the database cannot be reached, they fail at once, so that requests do not pile up.
 * Only probes are sent: the log of keys sends one four times a second.
 */

import { hash } from "node:crypto";
import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { DatabaseError, isRolledBack, isTimeout, isVictim, sqlState, TimeoutError } from "./database-error.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { type DatabasePool, type PoolClient, type Row, sendReplicated } from "./pool.ts";

/** To open a connection, or until one is free. One begun while the database was away delays the recovery as long. */
const connectMs = 1_500;
const statementMs = 3_000;
export const lockMs = 2_000;
/** Between two statements of a transaction: this process may read a file meanwhile. */
const idleMs = 30_000;
/** To learn what became of a statement whose answer was lost. */
export const decisionMs = 10_000;
const decisionPauseMs = 100;
/**
 * Whatever the defaults are, the commit waits for the disk and for a standby that the operator named, and warns if the
 * wait for the standby was canceled. How much of the standby (remote_…) stays the operator's choice.
 */
export const setDurable = `set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true)`;
/** A refusal that has not happened for so long is reported again. */
const newRefusalMs = 60_000;

/** Every statement fails: on a replica, while the next connection may lead elsewhere, and without the schema. */
const unusableStates: ReadonlySet<string | undefined> = new Set(["25006", "3F000"]);

/** Behind a pooler in transaction mode, the next transaction may be on a connection that has other names. */
const otherNamesStates: ReadonlySet<string | undefined> = new Set(["26000", "42P05"]);

/** Of a transaction. */
export type Query = (text: string, values?: unknown[], limitMs?: number) => Promise<readonly Row[]>;

export class Database {
  readonly #pool: DatabasePool;
  readonly #report: Report;
  /** Changed here only. */
  isAvailable = true;
  /** When a SQLSTATE was seen last, by performance.now(). */
  readonly #refusals = new Map<string, number>();
  readonly #connectionLimit = new ConnectionLimit();
  #canPrepare = true;
  /** Statements that got no answer, and how many there had been when a connection was opened. */
  #lossCount = 0;
  readonly #lossCounts = new WeakMap<PoolClient, number>();

  /** @param report takes a line when the database cannot be reached, when it can again, and for each new refusal */
  constructor(pool: DatabasePool, report: Report) {
    this.#pool = pool;
    this.#report = report;
    pool.on("error", ignore); // A connection that breaks while nobody uses it: the pool drops it.
  }

  /** Runs a statement as a transaction of its own, twice if it is rolled back for others. @throws {DatabaseError} */
  async run(text: string, values: unknown[] = []): Promise<readonly Row[]> {
    if (!this.isAvailable) {
      throw new DatabaseError("none", new Error("the database cannot be reached"));
    }
    try {
      return await this.attempt(text, values);
    } catch (error) {
      if (error instanceof DatabaseError && isVictim(error.cause)) {
        return this.attempt(text, values);
      }
      throw error;
    }
  }

  /** As `run`, but once, and even if the database could not be reached: so it finds out when it can again. */
  async attempt(text: string, values: unknown[] = []): Promise<readonly Row[]> {
    const client = await this.#connect();
    try {
      const rows = await within(statementMs, this.#send(client, text, values));
      this.#release(client, false);
      this.#setAvailable(undefined);
      return rows;
    } catch (error) {
      const isRefused = isRolledBack(error);
      const isUnusable = unusableStates.has(sqlState(error));
      this.#release(client, !isRefused || isUnusable);
      if (isTimeout(error)) {
        this.#lossCount += 1;
      }
      if (isTimeout(error) || isUnusable) {
        this.#setAvailable(error);
      } else if (isRefused) {
        this.#reportRefusal("a statement", error);
      }
      throw new DatabaseError(isRefused ? "none" : "unknown", error);
    }
  }

  /**
   * A connection prepares a statement once, and then only executes it, in four fifths of the time if it is a short one.
   * Where that fails, the statement has not run: it is sent without a name, as all later ones.
   */
  async #send(client: PoolClient, text: string, values: unknown[]): Promise<readonly Row[]> {
    if (this.#canPrepare) {
      try {
        // Made from the text, so that the name never means the statement of another release.
        return await sendReplicated(client, { name: hash("sha256", text, "base64url"), text, values });
      } catch (error) {
        if (!otherNamesStates.has(sqlState(error))) {
          throw error;
        }
        this.#canPrepare = false;
      }
    }
    return sendReplicated(client, { text, values });
  }

  /** As `attempt`, again and again until it succeeds. Returns undefined if it has not when `end` is aborted. */
  async insist(text: string, values: unknown[], end: AbortSignal): Promise<readonly Row[] | undefined> {
    const ended = new Promise<void>((resolve) => end.addEventListener("abort", () => resolve()));
    while (!end.aborted) {
      const rows = await Promise.race([this.attempt(text, values).catch(ignore), ended]);
      if (rows !== undefined) {
        return rows;
      }
      await delay(decisionPauseMs);
    }
    return undefined;
  }

  /**
   * Only for starts and commands: its locks last as long as this process takes, or, if it is stopped, 30 s.
   * @param eachMs how long an answer may take
   * @throws {Error} after a wait, with the beginning of the statement
   */
  async transaction<Result>(work: (query: Query) => Promise<Result>, eachMs: number = statementMs): Promise<Result> {
    const client = await this.#connect();
    try {
      const query: Query = async (text, values = [], limitMs = eachMs) => {
        return within(limitMs, sendReplicated(client, { text, values })).catch((error: unknown) => {
          const [start] = text.trim().split("\n");
          const isWait = isTimeout(error) || sqlState(error) === "55P03"; // The latter for a lock.
          throw isWait ? new Error(`${messageOf(error)}: ${start}`, { cause: error }) : error;
        });
      };
      await query("BEGIN");
      await query(`SET LOCAL lock_timeout = ${lockMs}`);
      await query(`SET LOCAL idle_in_transaction_session_timeout = '${idleMs}ms'`);
      const result = await work(query);
      await query(`SELECT ${setDurable}`);
      await query("COMMIT");
      this.#release(client, false);
      return result;
    } catch (error) {
      this.#release(client, true); // This rolls back.
      throw error;
    }
  }

  close(): void {
    this.#pool.off("error", ignore);
  }

  /** After a statement that got no answer, older connections may be dead too: they are closed instead of tried. */
  async #connect(): Promise<PoolClient> {
    const endMs = performance.now() + connectMs;
    for (;;) {
      const client = await this.#connectOnce(endMs);
      const lossCount = this.#lossCounts.get(client) ?? this.#lossCount;
      this.#lossCounts.set(client, lossCount);
      if (lossCount === this.#lossCount) {
        return client;
      }
      this.#release(client, true);
    }
  }

  /** A connection that is refused while others work says nothing of the database. */
  async #connectOnce(endMs: number): Promise<PoolClient> {
    await this.#connectionLimit.take(endMs);
    const otherCount = this.#connectionLimit.usedCount - 1;
    const connecting = this.#pool.connect();
    try {
      const client = await within(connectMs, connecting);
      client.on("error", ignore); // The statement under way fails with the same error.
      return client;
    } catch (error) {
      connecting.then((client) => client.release(), ignore); // It may come too late.
      this.#connectionLimit.giveBack();
      if (sqlState(error) !== "53300" || otherCount + this.#connectionLimit.usedCount === 0) {
        this.#setAvailable(error);
        throw new DatabaseError("none", error);
      }
      this.#reportRefusal("a connection", error);
      this.#connectionLimit.setFull();
      return this.#connectOnce(endMs);
    }
  }

  #release(client: PoolClient, destroy: boolean): void {
    client.off("error", ignore);
    if (destroy) {
      client.on("error", ignore); // Nobody else listens to a connection that is being closed.
    }
    client.release(destroy);
    this.#connectionLimit.giveBack();
  }

  /** As of a full disk or a missing right: the operator has to do something. */
  #reportRefusal(what: string, error: unknown): void {
    const state = sqlState(error);
    if (state === undefined || isVictim(error)) {
      return;
    }
    const nowMs = performance.now();
    if (nowMs - (this.#refusals.get(state) ?? -Infinity) > newRefusalMs) {
      this.#report(`the database refused ${what}: ${messageOf(error)}`, "warning");
    }
    this.#refusals.set(state, nowMs);
  }

  #setAvailable(failure: unknown): void {
    const isAvailable = failure === undefined;
    if (isAvailable !== this.isAvailable) {
      this.isAvailable = isAvailable;
      const unavailable = `the database cannot be used, requests get 503 until it can: ${messageOf(failure)}`;
      this.#report(isAvailable ? "the database can be used again" : unavailable, isAvailable ? "info" : "warning");
    }
  }
}

/** Rejects if the promise takes longer. Its value, or failure, is then ignored. */
export async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${limitMs / 1_000} s`)), limitMs);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}
