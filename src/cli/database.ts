/**
 * The database of a command line, through the package `pg`. Only those who use a database install it, so it is imported
 * when one is named.
 */

import { systemClock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import type { KeyStore, KeyStoreOptions } from "../keys/key-store.ts";
import { Database, within } from "../postgres/database.ts";
import { DatabaseError } from "../postgres/database-error.ts";
import { inspect } from "../postgres/inspect.ts";
import type { DatabasePool } from "../postgres/pool.ts";
import { openKeys } from "../postgres/postgres-engine.ts";
import { prepareSchema } from "../postgres/schema.ts";
import { UsageError } from "./parse-flags.ts";
import type { Storage } from "./settings.ts";

export type DatabaseStorage = Extract<Storage, { readonly kind: "database" }>;

interface Pool extends DatabasePool {
  end(): Promise<void>;
}

interface PgPackage {
  readonly default: { readonly Pool: new (options: object) => Pool };
}

/** In a clone, pg is an optional peer, which npm installs only with --save-prod. */
const missingText = "the package pg is missing; run: npm install pg (in a clone: npm install --no-save --save-prod pg)";

const connectMs = 1_000;
/** How long connections may take to close. Closing waits for one that is in use. */
const endMs = 1_000;

/**
 * Runs `use` with a pool of connections, which are opened when they are needed, and closes them afterwards.
 *
 * @throws {UsageError} the package is missing
 */
export async function withPool<Result>(
  storage: DatabaseStorage,
  use: (pool: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const { Pool } = (await importPg(storage)).default;
  const pool = new Pool({
    connectionString: storage.address,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    application_name: "animal-store",
  });
  pool.on("error", () => undefined); // A connection that breaks while nobody uses it, also while they are closed.
  try {
    return await use(pool);
  } finally {
    await within(endMs, pool.end()).catch(() => undefined); // The work is over: its outcome counts.
  }
}

/**
 * Runs `use` with the database, its schema made or migrated.
 *
 * @throws {UsageError} the database cannot be used
 */
export async function withDatabase<Result>(
  storage: DatabaseStorage,
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  return withPool(storage, async (pool) => {
    const database = new Database(pool, () => undefined); // The error of a statement says as much.
    await prepareSchema(database).catch((error: unknown) => {
      throw unusable(storage, error);
    });
    return use(database).catch((error: unknown) => {
      throw error instanceof DatabaseError ? new Error(unusable(storage, error).message, { cause: error }) : error;
    });
  });
}

/** Runs `use` with the keys. @throws {UsageError} as `withDatabase` */
export function withDatabaseKeys(
  storage: DatabaseStorage,
  options: KeyStoreOptions & { readonly report: (message: string) => void },
  use: (store: KeyStore) => Promise<void>,
): Promise<void> {
  return withDatabase(storage, async (database) => use(await openKeys({ ...options, database })));
}

/**
 * What `check` says of a database.
 *
 * @throws {UsageError} the package is missing, or the database is not reached with this address, name and password
 * @throws {Error} a start would fail
 */
export function checkDatabase(storage: DatabaseStorage): Promise<string> {
  return withPool(storage, async (pool) => {
    const database = new Database(pool, () => undefined);
    return inspect(database, systemClock).catch((error: unknown) => {
      const refusal = unusable(storage, error);
      throw database.isAvailable ? new Error(refusal.message, { cause: error }) : refusal;
    });
  });
}

function unusable({ cited }: DatabaseStorage, error: unknown): UsageError {
  return new UsageError(`Cannot use ${cited}: ${messageOf(error)}`);
}

async function importPg(storage: DatabaseStorage): Promise<PgPackage> {
  const name: string = "pg"; // Not a literal: the package has no types here.
  try {
    return (await import(name)) as PgPackage;
  } catch (error) {
    throw unusable(storage, hasCode(error, "ERR_MODULE_NOT_FOUND") ? new Error(missingText) : error);
  }
}
