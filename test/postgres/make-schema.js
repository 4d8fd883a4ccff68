/** Makes the schema, as `keys create` and `import` do: a server's start makes none. */

import pg from "pg";
import { Database } from "../../build/src/postgres/database.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";

/** Does nothing if there is one. @returns the address */
export async function makeSchema(url) {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const database = new Database(pool, () => undefined);
  try {
    await prepareSchema(database, () => undefined, "make");
  } finally {
    database.close();
    await pool.end();
  }
  return url;
}
