/**
 * Locks that somebody else holds, such as an operator in an open transaction.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Database } from "../../build/src/postgres/database.js";
import { newClient } from "../../build/test/support/client.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { health, lock, lockCounter, startService, timeUntil } from "./faults.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** At once, because they wait most of the time. */
describe("locks", { concurrency: 4 }, () => {
  async function start(context) {
    const url = await postgres.createDatabase();
    return { url, ...(await startService(context, [url])) };
  }

  const storedCount = async (url) => (await postgres.query("SELECT FROM animal_store.pets", [], url)).length;

  /** How long the oldest statement has waited for a lock. */
  async function longestWaitMs(url) {
    const text = `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::float8 * 1000 AS ms
      FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await postgres.query(text, [], url))[0].ms;
  }

  async function timed(send) {
    const start = performance.now();
    const { status, text } = await send();
    return { status, code: JSON.parse(text).code, ms: performance.now() - start };
  }

  for (const [title, statement] of [
    ["the counter's row", lockCounter],
    ["the table of animals", "LOCK TABLE animal_store.pets IN SHARE MODE"],
  ]) {
    test(`while somebody locks ${title}, creates get 503 and nothing is stored; reads go on`, { skip }, async (context) => {
      const { url, clients: [client] } = await start(context);
      const { release } = await lock(context, url, statement);
      const adding = timed(() => client.add({ name: "Rex", categoryId: 1 }));
      assert.equal((await client.get("/v1/pets")).status, 200);
      const { status, code, ms } = await adding;
      assert.deepEqual([status, code], [503, "storage_unavailable"]);
      assert.ok(ms < 3_000, `${ms} ms`);
      assert.equal(await health(client), 200);
      await release();
      assert.deepEqual([await storedCount(url), (await client.add({ name: "Rex", categoryId: 1 })).status], [0, 201]);
    });
  }

  for (const [title, statement] of [
    ["a key's limits", "SELECT FROM animal_store.limits FOR UPDATE"],
    ["the table of limits", "LOCK TABLE animal_store.limits"],
  ]) {
    test(`while somebody locks ${title}, requests get 503 with the fields known last`, { skip }, async (context) => {
      const { url, clients: [client] } = await start(context);
      await client.get("/v1/pets");
      const { release } = await lock(context, url, statement);
      const startedAt = performance.now();
      const { status, headers } = await client.add({ name: "Rex", categoryId: 1 });
      assert.ok(performance.now() - startedAt < 3_000);
      assert.deepEqual([status, headers["x-ratelimit-remaining"]], [503, "999999"]);
      await release();
      const next = await client.add({ name: "Rex", categoryId: 1 });
      assert.deepEqual([next.status, JSON.parse(next.text).id, next.headers["x-ratelimit-remaining"]], [201, 1, "999998"]);
    });
  }

  for (const [title, table, get] of [
    ["animals", "pets", (client) => Promise.all(["/v1/pets", "/v1/pets?limit=1", "/v1/pets/1"].map((path) => client.get(path)))],
    ["keys", "key_events", () => undefined],
    ["limits", "limits", async (client, { keys }) => {
      await assert.rejects(keys.list());
      return [await client.get("/v1/pets")];
    }],
  ]) {
    test(`while somebody locks the ${title} for minutes, no statements pile up in PostgreSQL`, { skip }, async (context) => {
      const { url, instances: [instance], clients: [client] } = await start(context);
      const { release } = await lock(context, url, `LOCK TABLE animal_store.${table}`);
      const end = performance.now() + 4_500;
      while (performance.now() < end) {
        const responses = (await get(client, instance)) ?? [];
        responses.forEach(({ status, text }) => assert.equal(status, 503, text));
        const waitMs = await longestWaitMs(url);
        assert.ok(waitMs < 3_000, `a statement has waited for ${waitMs} ms`);
        await setTimeout(100);
      }
      await release();
      const isBack = async () => (await client.get("/v1/pets")).status === 200 && (await health(client)) === 200;
      assert.ok((await timeUntil("all is well", isBack)) < 2_000);
    });
  }

  test("while somebody locks a key's limits, its unban fails, and all other requests are served", { skip }, async (context) => {
    const url = await postgres.createDatabase();
    const { instances: [first, second], clients } = await startService(context, [url, url]);
    const { id, key } = await first.keys.create();
    const client = newClient(first, key);
    context.after(() => client.close());
    assert.equal((await client.get("/v1/pets")).status, 200);
    const { release } = await lock(context, url, `SELECT FROM animal_store.limits WHERE key_id = '${id}' FOR UPDATE`);
    let isOver = false;
    const changing = Promise.allSettled([first.keys.unban(id), second.keys.create()]).finally(() => (isOver = true));
    while (!isOver) {
      for (const other of clients) {
        assert.deepEqual([(await other.get("/v1/pets")).status, await health(other)], [200, 200]);
      }
      const waitMs = await longestWaitMs(url);
      assert.ok(waitMs < 3_000, `a statement has waited for ${waitMs} ms`);
      await setTimeout(50);
    }
    const [unbanning] = await changing;
    assert.match(String(unbanning.reason), /lock timeout/);
    await release();
    await first.keys.unban(id);
  });

  test("a refusal is reported once a minute, while it lasts", { skip }, async (context) => {
    const { url } = await start(context);
    const pool = openPool(context, url);
    const reports = [];
    const database = new Database(pool, (message) => reports.push(message.replace(/.*: /, "")));
    let nowMs = 0;
    context.mock.method(performance, "now", () => nowMs);
    for (const [ms, divisor] of [[0, 0], [50_000, 0], [61_000, 1], [100_000, 0], [150_000, 0]]) {
      nowMs = ms;
      await database.run("SELECT 1 / $1::int", [divisor]).catch(() => undefined);
    }
    assert.deepEqual(reports, ["division by zero", "division by zero"]);
  });

  for (const [title, state] of [["a deadlock", "40P01"], ["a serialization failure", "40001"]]) {
    test(`a create that PostgreSQL rolls back because of ${title} is sent again, once`, { skip }, async (context) => {
      const { url, clients: [client] } = await start(context);
      // Real deadlocks end at a moment that PostgreSQL chooses. A sequence counts what is rolled back, too.
      for (const statement of [
        "CREATE SEQUENCE victims",
        `CREATE FUNCTION become_victim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('public.victims') <> 2 THEN RAISE EXCEPTION USING ERRCODE = '${state}'; END IF; RETURN NULL; END $$`,
        "CREATE TRIGGER victim BEFORE INSERT ON animal_store.pets EXECUTE FUNCTION become_victim()",
      ]) {
        await postgres.query(statement, [], url);
      }
      assert.deepEqual([(await client.add({ name: "Rex", categoryId: 1 })).status, await storedCount(url)], [201, 1]);
      assert.deepEqual([(await client.add({ name: "Rex", categoryId: 1 })).status, await storedCount(url)], [503, 1]);
      const [{ last_value: count }] = await postgres.query("SELECT last_value::int FROM victims", [], url);
      assert.equal(count, 4);
    });
  }
});
