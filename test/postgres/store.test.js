/**
 * The store in the database does what every store has to do.
 */

import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { systemClock } from "../../build/src/disk/clock.js";
import { testPetStore } from "../../build/test/store/pet-store-suite.js";
import { createPlace } from "./places.js";

testPetStore("in PostgreSQL", async () => {
  const { pool, remove } = await createPlace();
  return {
    async open() {
      const database = new Database(pool, () => undefined);
      await prepareSchema(database);
      return new PostgresPetStore(database, systemClock);
    },
    remove,
  };
});
