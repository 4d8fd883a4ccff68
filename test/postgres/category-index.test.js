/**
 * The index for categories, which a database that was migrated gets while its instances serve: until it is valid, lists
 * by category are refused, and nothing else is.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../build/src/base/clock.js";
import { Database } from "../../build/src/postgres/database.js";
import { openPostgres } from "../../build/src/postgres/postgres-engine.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { always } from "../../build/test/support/store-suites/suite-steps.js";
import { until } from "../../build/test/support/until.js";
import { lock } from "./faults.js";
import { skipPgBouncer, startPgBouncer } from "./pgbouncer.js";
import { startProxy } from "./proxy.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { createOld } from "./release-3.0.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

const begun = "the index for categories is being built: until it is, lists by category get 503";
const done = "the index for categories is built: lists by category work";
const ofCategory = { after: 0, limit: 3, status: undefined, categoryId: 1n };
const rex = '{"id":1,"name":"Rex","categoryId":1,"status":"pending"}';

/** A database of release 3.0, and then migrated, with so many more animals. @returns its address */
async function migrated(context, count = 0) {
  const url = await createOld(postgres);
  await prepareSchema(new Database(openPool(context, url), assert.fail), () => undefined, "migrate");
  await postgres.query(`INSERT INTO animal_store.pets (id, name, category_id, status)
    SELECT n, 'Rex', 2 + n % 1000, 'available' FROM generate_series(10, ${count}) AS n`, [], url);
  await postgres.query("UPDATE animal_store.counter SET last = greatest(2, $1::int)", [count], url);
  return url;
}

async function open(context, url, options = {}) {
  const reports = [];
  const pool = openPool(context, url, { connectionTimeoutMillis: 1_000, ...options });
  pool.on("error", () => undefined);
  const engine = await openPostgres({ pool, clock: systemClock, report: (message) => reports.push(message) });
  const closing = engine.close;
  let closed;
  engine.close = () => (closed ??= closing());
  context.after(() => engine.close());
  return { ...engine, reports };
}

const indexOf = async (url) => {
  const [index] = await postgres.query("SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass('animal_store.pets_by_category')", [], url);
  return index === undefined ? "missing" : index.is_valid ? "valid" : "invalid";
};

const backendOf = async (url, condition = "true") => {
  const [backend] = await postgres.query(`SELECT pid FROM pg_stat_activity
    WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active' AND datname = current_database() AND ${condition}`, [], url);
  return backend?.pid;
};

test("until the index for categories is valid, lists by category are refused, and all else works; it is told in two lines", { skip }, async (context) => {
  const url = await migrated(context);
  const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
  const { store, reports } = await open(context, url);
  await until("it is being built", async () => (await indexOf(url)) === "invalid");
  for (const query of [ofCategory, { ...ofCategory, status: "pending" }]) {
    const [filtered, all, ofStatus] = await Promise.allSettled([
      store.list(query), store.list({ ...query, categoryId: undefined, status: undefined, limit: 1 }),
      store.list({ ...query, categoryId: undefined, status: "pending" }),
    ]);
    assert.equal(filtered.reason?.name, "StorageUnavailableError");
    assert.deepEqual([all.value.json, ofStatus.value.json], [`[${rex}]`, `[${rex}]`]);
  }
  assert.equal((await store.change(1, { status: "pending" }, always)).kind, "changed");
  assert.equal(store.isWritable(), true);
  assert.deepEqual(reports, [begun]);
  await holder.release();
  await until("it is told", () => reports.length === 2);
  assert.deepEqual(reports, [begun, done]);
  assert.equal((await store.list(ofCategory)).json, `[${rex}]`);
});

test("an invalid index for categories is dropped, and built again", { skip: skipFaults }, async (context) => {
  const url = await migrated(context);
  await postgres.query("CREATE INDEX pets_by_category ON animal_store.pets (category_id, status, id NULLS FIRST)", [], url);
  await postgres.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'animal_store.pets_by_category'::regclass", [], url);
  const { store, reports } = await open(context, url);
  await assert.rejects(store.list(ofCategory), { name: "StorageUnavailableError" });
  await until("it is told", () => reports.length === 2);
  assert.deepEqual([await indexOf(url), reports], ["valid", [begun, done]]);
});

for (const end of ["pg_cancel_backend", "pg_terminate_backend"]) {
  test(`a building that is cut off by ${end} begins again`, { skip: skipFaults }, async (context) => {
    const url = await migrated(context);
    const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
    const { store, reports } = await open(context, url);
    await until("it waits", async () => (await indexOf(url)) === "invalid");
    await postgres.query(`SELECT ${end}($1)`, [await backendOf(url)]);
    await holder.release();
    await until("it is told", () => reports.includes(done));
    assert.match(reports.join("\n"), /^the index for categories is being built: .*\nthe index for categories could not be built: .*\nthe index for categories is built/);
    assert.equal((await store.list(ofCategory)).json, `[${rex}]`);
  });
}

test("a building whose instance is closed goes on, and another instance leaves it alone", { skip }, async (context) => {
  const url = await migrated(context);
  const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
  const first = await open(context, url);
  await until("it waits", async () => (await indexOf(url)) === "invalid");
  const pid = await backendOf(url);
  const beganMs = performance.now();
  await first.close();
  assert.ok(performance.now() - beganMs < 1_000);
  const { reports } = await open(context, url);
  await until("it looks", () => reports.length === 1);
  assert.equal(await backendOf(url), pid);
  await holder.release();
  await until("it is told", () => reports.length === 2);
  assert.deepEqual(reports, [begun, done]);
});

test("one connection serves while the index is built or dropped, and client_connection_check_interval ends neither", { skip }, async (context) => {
  const url = await migrated(context);
  await postgres.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET client_connection_check_interval = '100ms'`);
  await postgres.query("CREATE INDEX pets_by_category ON animal_store.pets (category_id, status, id NULLS FIRST)", [], url);
  await postgres.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'animal_store.pets_by_category'::regclass", [], url);
  for (const statement of ["DROP", "CREATE"]) {
    const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
    const { store, reports, close } = await open(context, url, { max: 1 });
    const under = `query LIKE '${statement} INDEX CONCURRENTLY%' AND datname = current_database()`;
    const pidsOf = (condition) => postgres.query(`SELECT pid FROM pg_stat_activity WHERE ${under} AND ${condition}`, [], url);
    const running = await until(`${statement} waits`, async () => {
      const pids = await pidsOf("query_start < now() - interval '5 seconds'");
      return pids.length > 0 && pids;
    });
    const beganMs = performance.now();
    assert.equal((await store.list({ ...ofCategory, categoryId: undefined })).json.startsWith(`[${rex}`), true);
    assert.ok(performance.now() - beganMs < 500);
    assert.deepEqual([reports, await pidsOf("true")], [[begun], running], "it is told once, and is under way once");
    await holder.release();
    await (statement === "DROP" ? close() : until("it is told", () => reports.includes(done)));
    await until("it has ended", async () => (await pidsOf("state = 'active'")).length === 0);
  }
});

test("a building that fails begins again, although the network has forgotten its connection", { skip: skipFaults }, async (context) => {
  const url = await migrated(context);
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
  const { store, reports } = await open(context, proxy.url);
  await until("it waits", async () => (await indexOf(url)) === "invalid");
  proxy.heal({ forget: true });
  await postgres.query("SELECT pg_terminate_backend($1)", [await backendOf(url)]);
  await holder.release();
  await until("it is told", () => reports.includes(done));
  assert.equal((await store.list(ofCategory)).json, `[${rex}]`);
});

test("three instances that start at once get one index, and nobody who writes waits for 0.5 s", { skip }, async (context) => {
  const url = await migrated(context, 300_000);
  const [{ store, reports }, ...others] = await Promise.all([open(context, url), open(context, url), open(context, url)]);
  let slowestMs = 0;
  for (let count = 0; !reports.includes(done); count += 1) {
    const beganMs = performance.now();
    await Promise.all([store.add({ name: "Rex", categoryId: 5n, status: "sold" }), store.change(10 + count, { status: "sold" }, always)]);
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
  }
  await until("all know", () => others.every((other) => other.reports.includes(done)));
  assert.equal(await indexOf(url), "valid");
  assert.ok(slowestMs < 500, `${slowestMs} ms`);
});

for (const isPooled of [false, true]) {
  const title = `a role's statement_timeout and lock_timeout do not end the building${isPooled ? ", behind PgBouncer" : ""}`;
  test(title, { skip: isPooled ? skipPgBouncer : skipFaults }, async (context) => {
    const url = await migrated(context);
    const role = `hurried_${isPooled}`;
    await postgres.query(`CREATE ROLE ${role} LOGIN SUPERUSER; ALTER ROLE ${role} SET statement_timeout = '400ms';
      ALTER ROLE ${role} SET lock_timeout = '50ms'`, undefined, url);
    let address = Object.assign(new URL(url), { username: role }).href;
    if (isPooled) {
      const bouncer = await startPgBouncer(postgres, { user: role });
      context.after(() => bouncer.stop());
      address = bouncer.urlOf(url);
    }
    const holder = await lock(context, url, "UPDATE animal_store.pets SET name = name WHERE id = 2");
    const { store, reports } = await open(context, address);
    await until("it waits for longer", async () => (await backendOf(url, "query_start < now() - interval '1 second'")) !== undefined);
    await holder.release();
    await until("it is told", () => reports.includes(done));
    assert.equal((await store.list(ofCategory)).json, `[${rex}]`);
  });
}
