/**
 * Says whether a start could use a database, and what is in it. Changes nothing.
 */

import type { Clock } from "../disk/clock.ts";
import type { Database } from "./database.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";
import { checkMayCreate, checkTableRights } from "./rights.ts";
import { checkSession, readSchemaVersion } from "./schema.ts";

export interface Inspection {
  /** 0 if a start would make the schema. */
  readonly version: number;
  readonly animalCount: number;
  readonly keyCount: number;
}

/** @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<Inspection> {
  const { version, animalCount } = await database.transaction(async (query) => {
    await checkSession(query);
    const version = await readSchemaVersion(query);
    await (version === 0 ? checkMayCreate(query) : checkTableRights(query));
    const [row] = version > 0 ? await query("SELECT last::text AS last FROM animal_store.counter") : [];
    return { version, animalCount: Number(row?.["last"] ?? 0) };
  });
  if (version === 0) {
    return { version, animalCount, keyCount: 0 };
  }
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  return { version, animalCount, keyCount: keyring.list().length };
}
