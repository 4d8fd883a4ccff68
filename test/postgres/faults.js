/**
 * What tests of faults have in common: instances with a key, and somebody else's locks.
 *
 * The faults, and the files of this folder that test them:
 *
 *     an instance is killed, or stopped and goes on                                        faults-instances
 *     PostgreSQL is killed or shut down; its connections are ended                         faults-postgres
 *     the network is cut, also inside a message; connections are silent or reset           faults-network, faults-answers
 *     an answer is lost; a statement arrives after it was given up; a fate stays unknown   faults-answers, fence, commands
 *     new connections are refused or silent, or end when they open                         connections, chaos
 *     a pool has one connection, none free, or never connects; PgBouncer is restarted      faults-pools
 *     the database is slow to open connections, or has a statement_timeout                 slow
 *     a disk is full                                                                       faults-disk
 *     connections lead to a replica; the wait for a standby is canceled                    faults-replica
 *     the primary is killed, switched, or stopped and comes back                           failover
 *     a failover or a restore loses animals, or has other key events                       fence, keys
 *     the key events cannot be read, or some are missing                                   keys, faults-locks, restore
 *     a restore without tables, primary keys or rights; row security                       restore, migration
 *     somebody locks rows or tables, or deletes rows                                       faults-locks, commands, store
 *     several starts at once; a start that cannot succeed                                  faults-start, faults-replica, commands
 *     a migration beside a long transaction, or cut off                                    migration
 *     the index for categories is missing, invalid or cut off                              category-index
 *     any of these at random, at three instances under load                                chaos
 */

import pg from "pg";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { startInstance } from "./instance.js";
import { makeSchema } from "./make-schema.js";
import { startProxy } from "./proxy.js";

/** No limit that could be felt. */
export const enterprise = { plan: "enterprise", perMinute: 1_000_000, perDay: 1_000_000_000 };

/**
 * Starts instances with one key, on a schema that is made if there is none, and resolves when all of them know it. `clients` has one for each instance.
 *
 * @param urls the address that each instance uses
 */
export async function startService(context, urls, { plan = enterprise, pool } = {}) {
  await makeSchema(urls[0]);
  const instances = await Promise.all(urls.map((url) => startInstance(url, { context, pool })));
  const { id, key } = await instances[0].keys.create(plan);
  const clients = instances.map((instance) => newClient(instance, key));
  context.after(() => clients.forEach((client) => client.close()));
  await Promise.all(instances.map(({ keys }) => keys.list())); // This reads what others have appended.
  return { instances, clients, id, key };
}

/** Two instances, the first one behind a proxy, or that one alone. */
export async function startBehindProxy(context, postgres, count = 2) {
  const url = await postgres.createDatabase();
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  return { url, proxy, ...(await startService(context, [proxy.url, url].slice(0, count))) };
}

export async function isServing(client) {
  return (await client.get("/v1/pets?limit=1").catch(() => ({}))).status === 200;
}

export async function health(client) {
  return (await client.get("/healthz")).status;
}

/** A connection of an operator's own, in a transaction after the statement. `release()` ends the transaction. */
export async function lock(context, url, statement) {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  context.after(() => client.end().catch(() => undefined));
  await client.query(`BEGIN; ${statement}`);
  return { query: (text) => client.query(text), release: () => client.query("ROLLBACK") };
}

export const lockCounter = "SELECT FROM animal_store.counter FOR UPDATE";

/** Resolves with the backends that wait for a lock, once they are so many. @param of a part of their statements */
export function lockWaits(postgres, url, { of = "", count = 1 } = {}) {
  const question = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ $1`;
  return until("they wait for a lock", async () => {
    const waiting = await postgres.query(question, [of], url);
    return waiting.length >= count && waiting;
  });
}

/** A batch of creates, as `lockWaits` has it. */
export const addingBatch = { of: "animal_store.add" };

const heartbeatMs = 10;

/** How long it takes until the check is true, in milliseconds, without pauses in which a busy machine ran others. */
export async function timeUntil(what, check, options) {
  const start = performance.now();
  let pausesMs = 0;
  let beatAt = start;
  const heart = setInterval(() => {
    const now = performance.now();
    pausesMs += Math.max(0, now - beatAt - 2 * heartbeatMs);
    beatAt = now;
  }, heartbeatMs);
  try {
    await until(what, check, options);
  } finally {
    clearInterval(heart);
  }
  return performance.now() - start - pausesMs;
}
