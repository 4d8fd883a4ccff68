/**
 * Makes places for stores and services: databases of their own, on the PostgreSQL at `ANIMAL_STORE_TEST_DATABASE`, or on
 * one that this process starts.
 */

import pg from "pg";
import { Database } from "../../build/src/postgres/database.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { startPostgres } from "./postgres-server.js";

let postgres;

/**
 * A service's options, and how to remove what it kept. test/support/running-service.ts takes it.
 *
 * @param clock the clock of the limits, in place of the database's
 */
export async function createPlace(clock) {
  postgres ??= startPostgres(); // It ends with this process.
  const running = await postgres;
  const url = await running.createDatabase();
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 1_000 });
  pool.on("error", () => undefined); // Connections that end after the service was closed.
  const database = new Database(pool, () => undefined);
  await prepareSchema(database, () => undefined, "make"); // So a service has nothing to report.
  database.close();
  if (clock !== undefined) {
    await pool.query(`CREATE OR REPLACE FUNCTION animal_store.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
      $$ SELECT current_setting('test.now_ms')::bigint $$`);
  }
  return {
    url,
    pool,
    options: { database: clock === undefined ? pool : withClock(pool, clock) },
    async remove() {
      await pool.end();
      await running.query(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
    },
  };
}

/** Tells the time to a connection before each statement. */
function withClock(pool, clock) {
  const setClock = "SELECT set_config('test.now_ms', $1, false)";
  return withQuery(pool, async (client, statement) => {
    await client.query({ text: setClock, values: [String(Math.floor(clock.wallMs()))] });
    return client.query(statement);
  });
}

/** The pool with another `query(client, statement)` in place of `client.query(statement)`. */
export function withQuery(pool, query) {
  return {
    on: (...args) => pool.on(...args),
    off: (...args) => pool.off(...args),
    async connect() {
      const client = await pool.connect();
      return {
        on: (...args) => client.on(...args),
        off: (...args) => client.off(...args),
        release: (destroy) => client.release(destroy),
        query: (statement) => query(client, statement),
      };
    },
  };
}
