/**
 * The log of key events in the database: the lines of keys.jsonl, numbered from 1.
 *
 * An event is decided on the events that were read, and appended with the next number. If another instance has taken
 * that number, or the event before it is not the one that was read, the new ones are read and the decision is made
 * again. So no lock is needed. If the answer is lost, the same event is appended once more: then the line of that
 * number shows whether it was stored. A database that was restored, or that took over too early, may lack events that
 * this instance has read. Then it reads all of them again, so that every instance has the same keys.
 */

import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { KeyLog } from "../keys/key-commands.ts";
import { type KeyEvent, kindOf } from "../keys/key-events.ts";
import { decodeKeyText, encodeKeyEvent } from "../keys/key-line.ts";
import { KeyError } from "../keys/key.ts";
import { Keyring } from "../keys/keyring.ts";
import { DatabaseError } from "./database-error.ts";
import { boundedRead, type Database, decisionMs, lockMs } from "./database.ts";
import type { Row } from "./pool.ts";

export interface PostgresKeyLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly report: Report;
}

/** If the last poll was longer ago, a key that this instance does not know may have been made by another one. */
const currentMs = 1_000;
/** If polls have failed for so long, although the database answers, the operator is told. */
const tellMs = 3_000;
/** How long the first poll without an answer may take: another connection is tried before the database is away. */
const pollMs = 1_000;
/** How long those after it may take: a refusal because of a lock is an answer. Longer would hold up the recovery. */
const laterPollMs = lockMs + 250;
/** The most events that are applied in one turn of the event loop, in about 1 ms. */
const readMax = 1_000;
/** The values are numbers alone, so nothing has to be quoted. */
const readText = (after: number, count: number): string =>
  boundedRead("SELECT seq::text AS seq, line, animal_store.clock_ms()::text AS now_ms " +
    `FROM animal_store.key_events_after(${after}, ${count})`);
const commitText = "SELECT animal_store.decide_commit($1)";
const appendText = "SELECT animal_store.append_key_event($1, $2, $3, $4)::text AS is_appended";

/**
 * The database's clock, by which keys expire, so that all instances agree. It is read with each poll for key events; in
 * between, and while the database is away, it goes on as this machine's monotonic clock does.
 */
class DatabaseClock implements Clock {
  readonly #own: Clock;
  #startMs: number;

  constructor(own: Clock) {
    this.#own = own;
    this.#startMs = own.wallMs() - own.monotonicMs();
  }

  wallMs(): number {
    return this.#startMs + this.#own.monotonicMs();
  }

  monotonicMs(): number {
    return this.#own.monotonicMs();
  }

  /** @param nowMs the time that a statement has returned @param sentMs when it was sent, by `monotonicMs` */
  set(nowMs: number, sentMs: number): void {
    this.#startMs = nowMs - (sentMs + this.#own.monotonicMs()) / 2;
  }
}

export class PostgresKeyLog implements KeyLog {
  readonly keyring: Keyring;
  /** The clock by which keys expire. */
  readonly clock: DatabaseClock;
  readonly #options: PostgresKeyLogOptions;
  /** The number of the last event that was applied, and its line. */
  #seq = 0;
  #lastLine: string | undefined;
  /** When the last poll had read all events, by performance.now(). */
  #readMs = -Infinity;
  #fault: string | undefined;
  #polling: Promise<void> | undefined;

  /** @throws {DatabaseError} @throws {KeyError} `key_file_damaged`: an event cannot be read, so no key may work */
  static async open(options: PostgresKeyLogOptions): Promise<PostgresKeyLog> {
    const log = new PostgresKeyLog(options);
    await log.#read();
    return log;
  }

  private constructor(options: PostgresKeyLogOptions) {
    this.#options = options;
    this.clock = new DatabaseClock(options.clock);
    this.keyring = new Keyring({ clock: this.clock, isCurrent: () => this.#isCurrent });
  }

  get #isCurrent(): boolean {
    return performance.now() - this.#readMs <= currentMs;
  }

  get exists(): boolean {
    return this.#seq > 0;
  }

  async append(decide: () => KeyEvent | undefined): Promise<void> {
    for (let isStored = false; !isStored; ) {
      await this.#read();
      const event = decide();
      if (event === undefined) {
        return;
      }
      isStored = await this.#appendNext(event);
    }
    await this.refresh(); // If this fails, the next poll applies the event.
  }

  /** Resolves to false if there are events on which this one was not decided. @throws {DatabaseError} */
  async #appendNext(event: KeyEvent): Promise<boolean> {
    const { database } = this.#options;
    const seq = this.#seq + 1;
    const line = encodeKeyEvent(event).slice(0, -1);
    const grantedId = kindOf(event).lifts === undefined ? null : event.id;
    const values = [seq, line, grantedId, this.#lastLine ?? null];
    try {
      return isAppended(await database.attempt(appendText, values));
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.effect === "none") {
        throw error;
      }
      const end = AbortSignal.timeout(decisionMs);
      if (isAppended((await database.retryUntil(appendText, values, end)) ?? [])) {
        return true;
      }
      const [stored] = (await database.retryUntil(readText(seq - 1, 1), [], end)) ?? [];
      // A read does not show whether a standby has the event. A commit that waits for the standby does.
      if (stored === undefined || (await database.retryUntil(commitText, [randomUUID()], end)) === undefined) {
        const fault = "the answer was lost, so the change may have been made: list the keys";
        throw new DatabaseError("unknown", new Error(fault, { cause: error }));
      }
      return stored["line"] === line;
    }
  }

  /** Applies the events that other instances have appended, or joins the poll that is under way. Never rejects. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Polls once more, after a poll that is under way, so that everything written before this call is seen. */
  async refresh(): Promise<void> {
    while (this.#polling !== undefined) {
      await this.#polling;
    }
    await this.poll();
  }

  /** Resolves when no poll is under way. */
  async close(): Promise<void> {
    await this.#polling;
  }

  async #poll(): Promise<void> {
    try {
      await this.#read(this.#isCurrent ? pollMs : laterPollMs);
      if (this.#fault !== undefined) {
        this.#fault = undefined;
        this.#options.report("the key events in the database can be read again");
      }
    } catch (error) {
      const isBrief = performance.now() - this.#readMs < tellMs;
      if (error instanceof DatabaseError && (isBrief || !this.#options.database.isAvailable)) {
        return; // The next poll tries again; if the database stays away, `Database` reports that.
      }
      const fault = error instanceof DatabaseError ? `Cannot read keys: ${messageOf(error)}` : messageOf(error);
      if (this.#fault !== fault) {
        this.#fault = fault;
        const effect = "keys known so far go on working, and what changes elsewhere is not known here";
        this.#options.report(`${fault}; ${effect}`, "warning");
      }
    }
  }

  /** Applies new events. @throws {KeyError} one of them cannot be read */
  async #read(limitMs?: number): Promise<void> {
    const { database } = this.#options;
    for (let isWhole = false; !isWhole; ) {
      const [knownSeq, knownLine] = [this.#seq, this.#lastLine];
      const sentMs = this.clock.monotonicMs();
      const rows = await database.attempt(readText(Math.max(0, knownSeq - 1), readMax), [], { limitMs });
      if (rows[0] !== undefined) {
        this.clock.set(Number(rows[0]["now_ms"]), sentMs);
      }
      if (this.#lastLine !== knownLine) {
        continue; // Another poll has applied events meanwhile.
      }
      // The last event is read again, to see whether it is still the same.
      if (knownSeq > 0 && (Number(rows[0]?.["seq"]) !== knownSeq || rows[0]?.["line"] !== knownLine)) {
        await this.#readAgain();
        break;
      }
      rows.forEach((row) => this.#apply(Number(row["seq"]), String(row["line"])));
      isWhole = rows.length < readMax;
    }
    this.#readMs = performance.now();
  }

  /** Applies an event if it is new, in its order, so that none is passed over. @throws {KeyError} */
  #apply(seq: number, line: string): void {
    if (seq <= this.#seq) {
      return;
    }
    const reading = decodeKeyText(line);
    const fault = seq !== this.#seq + 1
      ? "the events before it are missing"
      : reading.kind === "event" ? this.keyring.apply(reading.event) : reading.reason;
    if (fault !== undefined) {
      throw new KeyError("key_file_damaged", `Cannot read keys: key event ${seq} in the database: ${fault}`);
    }
    [this.#seq, this.#lastLine] = [seq, line];
  }

  /** Until all events are read, the keys known so far work. @throws {KeyError} one cannot be read, or none is there */
  async #readAgain(): Promise<void> {
    const knownLine = this.#lastLine;
    const other = await PostgresKeyLog.open(this.#options);
    if (!other.exists) { // A restore makes the tables before it fills them.
      throw new KeyError("key_file_damaged", "Cannot read keys: there are no key events in the database any more");
    }
    if (this.#lastLine === knownLine) {
      this.keyring.takeOver(other.keyring);
      [this.#seq, this.#lastLine] = [other.#seq, other.#lastLine];
      const message = "key events were removed from the database or replaced there; all were read again";
      this.#options.report(message, "warning");
    }
  }
}

function isAppended([row]: readonly Row[]): boolean {
  return row?.["is_appended"] === "true";
}
