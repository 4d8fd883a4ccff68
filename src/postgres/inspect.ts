/**
 * Says whether a start could use a database, and what is in it. Changes nothing.
 */

import type { Clock } from "../base/clock.ts";
import { counted } from "../base/error-message.ts";
import type { Database } from "./database.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";
import { checkMayCreate, checkSchema } from "./rights.ts";
import { checkSession, readAnimalCount, readSchemaVersion, schemaVersion } from "./schema.ts";

/** Resolves to what was found, as text. @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<string> {
  const animalCount = await database.transaction(async (query) => {
    await checkSession(query);
    const version = await readSchemaVersion(query);
    if (version === 0) {
      await checkMayCreate(query);
      return undefined;
    }
    if (version === schemaVersion) {
      await checkSchema(query); // A start would make those that an older schema lacks.
    }
    return readAnimalCount(query);
  });
  if (animalCount === undefined) {
    return "the database has no tables of the animal store: a start would make them";
  }
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  return `the database is sound: ${counted(animalCount, "animal")}, ${counted(keyring.list().length, "key")}`;
}
