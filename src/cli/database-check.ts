/**
 * What `check` says of a database.
 */

import { systemClock } from "../disk/clock.ts";
import { counted } from "../disk/error-message.ts";
import { Database } from "../postgres/database.ts";
import { inspect } from "../postgres/inspect.ts";
import type { CheckResult } from "../store/load-pets.ts";
import { type DatabasePlace, unusable, withPool } from "./database.ts";

/** @throws {UsageError} the package of the database is missing */
export function checkDatabase(place: DatabasePlace): Promise<CheckResult> {
  return withPool(place, async (pool) => {
    const database = new Database(pool, () => undefined);
    try {
      const { version, animalCount, keyCount } = await inspect(database, systemClock);
      const finding =
        version === 0
          ? "the database has no schema animal_store: a start would make it"
          : `the database is sound: ${counted(animalCount, "animal")}, ${counted(keyCount, "key")}`;
      return { wouldServe: true, finding };
    } catch (error) {
      return { wouldServe: false, finding: unusable(place, error).message };
    } finally {
      database.close();
    }
  });
}
