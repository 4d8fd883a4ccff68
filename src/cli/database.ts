/**
 * Opens the database that a command line names, by the package `pg`. Only users of a database install that, so it is
 * imported when one is named.
 */

import { systemClock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { KeyCommands } from "../keys/key-commands.ts";
import type { KeyDecider } from "../keys/keys.ts";
import { connectMsDefault, within } from "../postgres/connections.ts";
import { DatabaseError } from "../postgres/database-error.ts";
import { Database } from "../postgres/database.ts";
import type { DatabasePool } from "../postgres/pool.ts";
import { openKeys } from "../postgres/postgres-engine.ts";
import { inspect, prepareSchema, type SchemaWork } from "../postgres/schema.ts";
import { connectTimeoutMs } from "./database-address.ts";
import { UsageError } from "./parse-flags.ts";
import type { Storage } from "./settings.ts";

export type DatabaseStorage = Extract<Storage, { readonly kind: "database" }>;

type PoolClass = new (options: object) => DatabasePool & { end(): Promise<void> };

/** In a clone, where pg is an optional peer, npm installs it only with the flags that the script has. */
const missingText = "the package pg is missing; run: npm install pg (in a clone: npm run add-pg)";

/** How long connections may take to close. Closing waits for one that is in use. */
const endMs = 1_000;

/**
 * Runs `use` with a pool of connections, which are opened when they are needed, and closes them afterwards.
 * @throws {UsageError} the package is missing
 */
export async function withPool<Result>(
  storage: DatabaseStorage,
  use: (pool: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const Pool = await importPool(storage);
  const pool = new Pool({
    connectionString: storage.address,
    max: storage.connectionCount,
    connectionTimeoutMillis: connectTimeoutMs(storage.address) ?? connectMsDefault,
    keepAlive: true,
    application_name: "animal-store",
  });
  pool.on("error", () => undefined); // An idle connection may break, also while the pool is closed.
  try {
    return await use(pool);
  } finally {
    await within(endMs, pool.end()).catch(() => undefined); // The work is over: its outcome counts.
  }
}

/**
 * Runs `use` with the database.
 * @param work what may be done with its schema; `report` takes a line about it
 * @throws {UsageError} it cannot be used
 */
export async function withDatabase<Result>(
  storage: DatabaseStorage,
  { work, report }: { readonly work: SchemaWork; readonly report: Report },
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  return withPool(storage, async (pool) => {
    const database = new Database(pool, () => undefined); // The errors of statements say as much.
    try {
      await prepareSchema(database, report, work).catch((error: unknown) => {
        throw unusable(storage, error);
      });
      return await use(database).catch((error: unknown) => {
        throw error instanceof DatabaseError ? new Error(unusable(storage, error).message, { cause: error }) : error;
      });
    } finally {
      database.close();
    }
  });
}

/** The keys of a database, which is opened when it is used: an invalid change is refused before that. */
export function databaseKeys(storage: DatabaseStorage, report: Report): KeyDecider {
  const withKeys = <Result>(work: SchemaWork, use: (keys: KeyCommands) => Promise<Result>): Promise<Result> =>
    withDatabase(storage, { work, report }, async (database) => {
      return use(await openKeys({ database, clock: systemClock, report }));
    });
  return {
    list: () => withKeys("use", (keys) => keys.list()),
    change: (event) => withKeys(event.event === "made" ? "make" : "use", (keys) => keys.change(event)),
  };
}

/**
 * What `check` says of a database.
 * @throws {UsageError} the package is missing, or the database is not reached with this address, name and password
 * @throws {Error} a start would fail
 */
export function checkDatabase(storage: DatabaseStorage): Promise<string> {
  return withPool(storage, async (pool) => {
    const database = new Database(pool, () => undefined);
    return inspect(database, systemClock).catch((error: unknown) => {
      const refusal = unusable(storage, error);
      const isReached = !(error instanceof DatabaseError && error.effect === "none");
      throw isReached ? new Error(refusal.message, { cause: error }) : refusal;
    });
  });
}

function unusable({ cited }: DatabaseStorage, error: unknown): UsageError {
  return new UsageError(`Cannot use ${cited}: ${messageOf(error)}`);
}

async function importPool(storage: DatabaseStorage): Promise<PoolClass> {
  const name: string = "pg"; // Not a literal: the package has no types here.
  try {
    return ((await import(name)) as { readonly default: { readonly Pool: PoolClass } }).default.Pool;
  } catch (error) {
    throw unusable(storage, hasCode(error, "ERR_MODULE_NOT_FOUND") ? new Error(missingText) : error);
  }
}
