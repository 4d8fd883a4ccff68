/**
 * The keys and limits of a database, for `keys …`.
 */

import type { Clock } from "../disk/clock.ts";
import { KeyStore, type KeyStoreOptions } from "../keys/key-store.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { readLimits } from "../postgres/limits-table.ts";
import { PostgresKeyLog } from "../postgres/postgres-key-log.ts";
import { type DatabasePlace, withDatabase } from "./database.ts";

interface Options extends KeyStoreOptions {
  readonly clock: Clock;
  readonly report: (message: string) => void;
}

/** @throws {UsageError} the database cannot be used */
export function withDatabaseKeys(
  place: DatabasePlace,
  options: Options,
  use: (store: KeyStore, readLimits: () => Promise<MemoryLimiter>) => Promise<void>,
): Promise<void> {
  return withDatabase(place, async (database) => {
    const store = new KeyStore(await PostgresKeyLog.open({ ...options, database }), options);
    await use(store, async () => {
      const limiter = new MemoryLimiter(options);
      await readLimits((text, values) => database.run(text, values), limiter);
      return limiter;
    });
  });
}
