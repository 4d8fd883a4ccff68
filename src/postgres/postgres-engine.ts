/** The engine of many instances: keys, limits and catalogue in one PostgreSQL database. */

import { once } from "node:events";
import { clearInterval, setInterval } from "node:timers";

import type { Clock } from "../base/clock.ts";
import type { Report } from "../base/report.ts";
import { SerialQueue } from "../base/serial-queue.ts";
import type { Engine } from "../engine.ts";
import { KeyCommands } from "../keys/key-commands.ts";
import { buildCategoryIndex } from "./build-category-index.ts";
import { Database, type Query } from "./database.ts";
import { readLimits } from "./limits-table.ts";
import type { DatabasePool } from "./pool.ts";
import { PostgresKeyLog, type PostgresKeyLogOptions } from "./postgres-key-log.ts";
import { PostgresLimiter } from "./postgres-limiter.ts";
import { PostgresPetStore } from "./postgres-pet-store.ts";
import { countAnimals, prepareSchema } from "./schema.ts";

export interface PostgresOptions {
  readonly pool: DatabasePool;
  readonly clock: Clock;
  readonly report: Report;
  /** If aborted, ends the opening, which rejects with its reason. Later it bounds how long creates stay in doubt. */
  readonly signal: AbortSignal | undefined;
}

/**
 * How often each instance looks for new key events, so that a change works everywhere within a second. While the
 * database is away, this is what tries it again.
 */
const keyPollMs = 250;
/** The first purge is after one turn: where no process lives for an hour, the tables must not grow for ever. */
const purgeTurnMs = 300_000;
/** The next ones are an hour apart. */
const purgeTurns = 12;
/** How long a start may count animals. */
const countMs = 1_000;
/** How many blocks of 8 kB of a table a purge looks at in one statement, so that no batch waits long for rows. */
const pieceBlocks = 100;

/** @throws {Error} the database cannot be reached, or cannot be used */
export async function openPostgres({ pool, clock, report, signal }: PostgresOptions): Promise<Engine> {
  let isOpen = false; // Until it is, errors say that the database cannot be reached.
  const database = new Database(pool, (message, level) => (isOpen ? report(message, level) : undefined));
  try {
    signal?.throwIfAborted();
    const preparing = prepareSchema(database, report, "migrate");
    // Another process that makes the schema may have stalled, so the wait for it can be stopped.
    await Promise.race([preparing, ...(signal === undefined ? [] : [once(signal, "abort")])]);
    signal?.throwIfAborted();
    const keyLog = await PostgresKeyLog.open({ database, clock, report });
    const keys = keysOver(keyLog, database);
    signal?.throwIfAborted();
    const limiter = new PostgresLimiter(database, clock);
    const store = new PostgresPetStore(database, clock, { report, stopping: signal });
    const stopping = new AbortController();
    const purges = new SerialQueue();
    let turn = 0;
    const purgeNext = (): Promise<void> => purges.run(() => purge(database, stopping.signal));
    const building = buildCategoryIndex(database, report, stopping.signal);
    const timers = [
      setInterval(() => void keyLog.poll(), keyPollMs).unref(),
      setInterval(() => void (turn++ % purgeTurns === 0 && purgeNext()), purgeTurnMs).unref(),
    ];
    const close = async (): Promise<void> => {
      timers.forEach(clearInterval);
      stopping.abort();
      await Promise.all([purges.idle(), building]);
      await keys.close();
      await store.close();
      database.close();
    };
    isOpen = true;
    return {
      store, limiter, keys, close,
      gauges: () => ({ banCount: limiter.banCount }),
      countAnimals: () => countAnimals(database, countMs).catch(() => undefined), // What else is wrong shows at once.
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Purges the tables piece by piece, and may stop between two. Never rejects: the next purge does what this leaves. */
export async function purge(database: Database, stopping: AbortSignal): Promise<void> {
  let blockCount = 1;
  for (let block = 0; block < blockCount && !stopping.aborted; block += pieceBlocks) {
    const text = "SELECT animal_store.purge($1, $2)::text AS blocks";
    const [row] = await database.run(text, [block, block + pieceBlocks]).catch(() => []);
    blockCount = Number(row?.["blocks"] ?? 0);
  }
}

/** @throws {DatabaseError} @throws {KeyError} `key_file_damaged`: an event cannot be read, so no key may work */
export async function openKeys(options: PostgresKeyLogOptions): Promise<KeyCommands> {
  return keysOver(await PostgresKeyLog.open(options), options.database);
}

function keysOver(log: PostgresKeyLog, database: Database): KeyCommands {
  const { clock } = log;
  const query: Query = (text) => database.read(text);
  return new KeyCommands(log, { clock, readLimits: () => readLimits(query, clock) });
}
