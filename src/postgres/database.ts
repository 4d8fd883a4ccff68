/**
 * Sends statements and transactions over the connections. While the database is away, statements fail at once, so that
 * requests do not pile up. Only `attempt` sends them even then, as the poll for key events does.
 */

import { hash } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { StorageUnavailableError } from "../pets/pet-store.ts";
import { Connections, within } from "./connections.ts";
import { DatabaseError, isRolledBack, isTimeout, isVictim, sqlState, TimeoutError } from "./database-error.ts";
import { type DatabasePool, type PoolClient, type Row, sendReplicated } from "./pool.ts";
import { Refusals } from "./refusals.ts";

const statementMs = 3_000;
/** How long a read may take in the database, so that it ends there before it is given up here. */
const readMs = 2_500;
export const lockMs = 2_000;
/** The longest pause between two statements of a transaction, in which this process may read a file. */
const idleMs = 30_000;
/** How long to try to learn what became of a statement whose answer was lost. */
export const decisionMs = 10_000;
const decisionPauseMs = 100;
/**
 * Whatever the defaults are, the commit waits for the disk and for a standby that the operator named, and warns if the
 * wait for the standby was canceled. How much of the standby (remote_…) stays the operator's choice.
 */
export const setDurable = `set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true)`;

/**
 * PostgreSQL does not notice that a client has given up, so a read has a bound, which holds from the next statement of
 * the transaction on: both go in one message, which has no values. A read that row security would filter fails.
 */
export const boundedRead = (text: string): string =>
  `SELECT set_config('statement_timeout', '${readMs}', true), set_config('row_security', 'off', true); ${text}`;

/** How long a statement that outlives its connection keeps it, for an error to arrive. */
const beginMs = 500;

/** A role may have bounds of its own, shorter than what a command takes. @param isLocal for the transaction alone */
const setBounds = (value: "'0'" | "reset_val", isLocal: "true" | "false"): string =>
  `SELECT set_config(name, ${value}, ${isLocal}) FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'client_connection_check_interval')`;

const replicaState = "25006";
const schemaMissingState = "3F000";

/** SQLSTATEs of a pooler in transaction mode: the next connection may lack a prepared statement, or have it already. */
const otherNamesStates: ReadonlySet<string | undefined> = new Set(["26000", "42P05"]);

/** Sends a statement of a transaction. */
export type Query = (text: string, values?: unknown[], limitMs?: number) => Promise<readonly Row[]>;

export class Database {
  readonly #refusals: Refusals;
  readonly #connections: Connections;
  #canPrepare = true;

  /** @param report takes a line when the database is away, when it is back, and for each refusal */
  constructor(pool: DatabasePool, report: Report) {
    this.#refusals = new Refusals(report);
    this.#connections = new Connections(pool, report, this.#refusals);
  }

  get isAvailable(): boolean {
    return this.#connections.isAvailable;
  }

  /**
   * Runs a statement as a transaction of its own, and once more if it was rolled back so that others could go on.
   * @param kind "read" if a replica could answer, too
   * @throws {DatabaseError}
   */
  async run(text: string, values: unknown[] = [], kind: "read" | "write" = "write"): Promise<readonly Row[]> {
    if (!this.isAvailable) {
      throw new DatabaseError("none", new Error("the database cannot be reached"));
    }
    for (let isAgain = false; ; isAgain = true) {
      try {
        return await this.attempt(text, values, { kind });
      } catch (error) {
        const wasVictim = error instanceof DatabaseError && isVictim(error.cause);
        if (wasVictim && isAgain) {
          this.#refusals.report("a statement", "victim", error); // The isolation level may be wrong.
        }
        if (!wasVictim || isAgain) {
          throw error;
        }
      }
    }
  }

  /** Runs a read that ends in the database before it is given up here. @throws {DatabaseError} */
  read(text: string): Promise<readonly Row[]> {
    return this.run(boundedRead(text), [], "read");
  }

  /**
   * Runs a statement once, even while the database is away: so it shows when the database is back.
   * @param kind as for `run` @param limitMs how long the answer may take
   */
  async attempt(
    text: string,
    values: unknown[] = [],
    { kind = "write", limitMs = statementMs }: { kind?: "read" | "write"; limitMs?: number | undefined } = {},
  ): Promise<readonly Row[]> {
    const connections = this.#connections;
    if (kind === "write") {
      connections.noteSent();
    }
    const beganMs = performance.now();
    const client = await connections.take().catch((error: unknown) => {
      connections.noteFailure(error, beganMs); // A slow connection that has come meanwhile works.
      throw error;
    });
    try {
      const rows = await within(limitMs, this.#send(client, text, values));
      client.release();
      if (kind === "write") {
        connections.noteAnswer();
      }
      return rows;
    } catch (error) {
      const isRefused = isRolledBack(error);
      const state = sqlState(error);
      const isAnswer = isRefused && state !== replicaState && state !== schemaMissingState;
      client.release(!isAnswer); // The next connection may lead to the primary.
      if (isAnswer && kind === "write") {
        connections.noteAnswer();
      } else if (!isAnswer) {
        connections.noteFailure(error, performance.now());
      }
      if (this.isAvailable && (isTimeout(error) || (isAnswer && !isVictim(error)))) {
        this.#refusals.report("a statement", state ?? "silent", error);
      }
      throw new DatabaseError(isRefused ? "none" : "unknown", error);
    }
  }

  /**
   * A connection prepares a statement once and then only executes it, which takes a short one four fifths of the time.
   * If a pooler makes that fail, the statement has not run. Then it and all later ones are sent without a name.
   */
  async #send(client: PoolClient, text: string, values: unknown[]): Promise<readonly Row[]> {
    if (this.#canPrepare && values.length > 0) {
      try {
        // The name is made from the text, so that it never means a statement of another release.
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

  /**
   * Begins a statement that can be in no transaction, and resolves when it has ended, or after `beginMs`. PostgreSQL
   * does not notice that its connection is closed then, and goes on: a statement of hours would keep it from requests,
   * and if the network forgot it, nobody would learn of the end. The bounds that a role may have are lifted for the
   * connection. Behind a pooler in transaction mode the statement may get another one than that, and fail at its
   * bounds. But mostly it gets the same one: the pooler uses next what was used last. For it the bounds are set again.
   */
  async begin(text: string): Promise<void> {
    const client = await this.#connections.take();
    const send = (statement: string): Promise<unknown> => sendReplicated(client, { text: statement, values: [] });
    const run = async (): Promise<void> => {
      await send(setBounds("'0'", "false"));
      await send(text).finally(() => send(setBounds("reset_val", "false")));
    };
    try {
      await within(beginMs, run());
    } catch (error) {
      if (!(error instanceof TimeoutError)) {
        throw error;
      }
    } finally {
      client.release(true);
    }
  }

  /** Calls `attempt` until it succeeds. Returns undefined if it has not succeeded when `end` is aborted. */
  async retryUntil(text: string, values: unknown[], end: AbortSignal): Promise<readonly Row[] | undefined> {
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
   * Only for starts and commands: its locks last as long as this process takes, or, if it is stopped, `idleMs`.
   * @param eachMs how long an answer may take
   * @param end "ROLLBACK" for a rehearsal
   * @throws {DatabaseError} the connection was lost @throws {Error} after a wait, with the beginning of the statement
   */
  async transaction<Result>(
    work: (query: Query) => Promise<Result>,
    { eachMs = statementMs, end = "COMMIT" }: { readonly eachMs?: number; readonly end?: "COMMIT" | "ROLLBACK" } = {},
  ): Promise<Result> {
    const client = await this.#connections.take();
    try {
      const query: Query = async (text, values = [], limitMs = eachMs) => {
        return within(limitMs, sendReplicated(client, { text, values })).catch((error: unknown) => {
          const [start] = text.replaceAll(/^--.*\n/gm, "").trim().split("\n");
          const isWait = isTimeout(error) || sqlState(error) === "55P03"; // The code of a wait for a lock.
          throw isWait
            ? new Error(`${messageOf(error)}: ${start}`, { cause: error })
            : isRolledBack(error) ? error : new DatabaseError("unknown", error);
        });
      };
      await query("BEGIN");
      await query(setBounds("'0'", "true"));
      await query(`SET LOCAL lock_timeout = ${lockMs}`);
      await query(`SET LOCAL idle_in_transaction_session_timeout = '${idleMs}ms'`);
      await query("SET LOCAL row_security = off");
      const result = await work(query);
      await query(`SELECT ${setDurable}`);
      await query(end);
      client.release();
      return result;
    } catch (error) {
      client.release(true); // This rolls back.
      throw error;
    }
  }

  close(): void {
    this.#connections.close();
  }
}

/** The most items that wait for the database: while it is slow, each takes about 4 kB. */
export const waitingMax = 10_000;

/** Returns why no more items may wait for the database: it is away, or too many wait. Undefined if one may. */
export function whyNotWait({ isAvailable }: Database, waitingCount: number): Error | undefined {
  if (isAvailable && waitingCount < waitingMax) {
    return undefined;
  }
  const reason = isAvailable ? "too many requests wait for the database" : "the database cannot be reached";
  return new StorageUnavailableError(reason);
}

function ignore(): void {}
