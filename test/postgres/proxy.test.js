import assert from "node:assert/strict";
import { after, before, beforeEach, afterEach, test } from "node:test";
import pg from "pg";
import { until } from "../../build/test/support/until.js";
import { skip, startPostgres } from "./postgres-server.js";
import { startProxy } from "./proxy.js";

let postgres;
let url;
let proxy;
let client;
before(async () => {
  postgres = await startPostgres();
  url = await postgres?.createDatabase();
  await postgres?.query("CREATE TABLE written (value int)", [], url);
});
after(() => postgres?.stop());

beforeEach(async () => {
  if (!skip) {
    await postgres.query("TRUNCATE written", [], url);
    proxy = await startProxy(url);
    client = await connected();
  }
});
afterEach(() => proxy?.stop());

async function connected() {
  const one = new pg.Client({ connectionString: proxy.url, connectionTimeoutMillis: 300 });
  one.on("error", () => undefined);
  await one.connect();
  return one;
}

/** Sends an INSERT. `outcome()` is undefined until the client knows it. */
function insert() {
  let outcome;
  const settled = client.query("INSERT INTO written VALUES (1)").then(
    () => (outcome = "done"),
    (error) => (outcome = error.code ?? error.message),
  );
  return { outcome: () => outcome, settled };
}

async function writtenCount() {
  return (await postgres.query("SELECT FROM written", [], url)).length;
}

test("in a cut nothing arrives and no connection ends; after it, everything arrives late", { skip }, async () => {
  proxy.cut();
  const { outcome, settled } = insert();
  await assert.rejects(connected(), /timeout/);
  assert.deepEqual([await writtenCount(), outcome()], [0, undefined]);
  proxy.heal();
  assert.equal(await settled, "done");
  assert.equal(await writtenCount(), 1);
});

test("a forgotten connection stays silent after the cut, a new one works", { skip }, async () => {
  proxy.cut();
  const { outcome } = insert();
  proxy.heal({ forget: true });
  const other = await connected();
  await other.query("SELECT 1");
  assert.deepEqual([await writtenCount(), outcome()], [0, undefined]);
});

test("when responses are held and the connection is reset, the work is done and its answer lost", { skip }, async () => {
  proxy.holdResponses();
  const { outcome, settled } = insert();
  await until("the row is written", async () => (await writtenCount()) === 1);
  assert.equal(outcome(), undefined);
  proxy.reset();
  assert.equal(await settled, "ECONNRESET");
  proxy.heal();
  await (await connected()).query("SELECT 1");
});

test("a reset ends the connections that there are, on both sides", { skip }, async () => {
  proxy.reset();
  assert.match(await insert().settled, /ECONNRESET|terminated|not queryable/);
  await until("the backend has ended", async () => (await postgres.backends(url)).length === 0);
  await (await connected()).query("SELECT 1");
});
