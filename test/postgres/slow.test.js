/**
 * A database that is slow, and settings of others that bound its statements: it is not away.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Database } from "../../build/src/postgres/database.js";
import { newClient } from "../../build/test/support/client.js";
import { health, isServing, timeUntil } from "./faults.js";
import { guardedFolder } from "./guarded-folder.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { createKey, runCommand, startProgram } from "./program.js";
import { startProxy } from "./proxy.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** A program whose connections come through a proxy. @param members of the address, such as "connect_timeout=10" */
async function start(context, members) {
  const url = await postgres.createDatabase();
  const key = await createKey(["--database", url], "enterprise");
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  const address = `${proxy.url}${members && `?${members}`}`;
  return { url, proxy, address, key };
}

async function serve(context, { address, key }, flags = []) {
  const program = await startProgram(["--database", address, ...flags]);
  context.after(() => program.kill());
  const client = newClient(program, key);
  context.after(() => client.close());
  return { program, client };
}

for (const [openingMs, members] of [[3_000, "connect_timeout=10"], [1_500, ""]]) {
  test(`a database that opens a connection in ${openingMs} ms serves (${members || "no connect_timeout"}), also after a cut`,
    { skip: skipFaults }, async (context) => {
      const slow = await start(context, members);
      slow.proxy.slow(openingMs);
      const { client, program } = await serve(context, slow);
      const answers = await Promise.all(Array.from({ length: 200 }, () => client.get("/v1/pets?limit=1")));
      assert.deepEqual(answers.filter(({ status }) => status !== 200), []);
      const added = await Promise.all(Array.from({ length: 20 }, () => client.add({ name: "Rex", categoryId: 1 })));
      assert.ok(added.every(({ status }) => status === 201));
      assert.equal(await health(client), 200);
      assert.doesNotMatch(program.stderr(), /cannot be used/);
      slow.proxy.reset();
      await timeUntil("it serves again", () => isServing(client));
      slow.proxy.cut();
      await timeUntil("it is away", async () => (await health(client)) === 503);
      await setTimeout(3_000);
      slow.proxy.heal({ forget: true });
      await timeUntil("it serves again", () => isServing(client));
      const listed = await runCommand(["keys", "list", "--database", slow.address]);
      assert.equal(listed.code, 0);
    });
}

test("a database that opens no connection is a 503 within 3 s, whatever its connect_timeout is", { skip: skipFaults }, async (context) => {
  const silent = await start(context, "connect_timeout=10");
  const { client } = await serve(context, silent);
  assert.equal(await isServing(client), true);
  silent.proxy.refuse("silence");
  silent.proxy.reset();
  for (let round = 0; round < 3; round += 1) {
    const beganMs = performance.now();
    const { status } = await client.get("/v1/pets?limit=1");
    const tookMs = performance.now() - beganMs;
    assert.equal(status, 503);
    assert.ok(tookMs < 3_500, `after ${Math.round(tookMs)} ms`);
  }
  await timeUntil("it is away", async () => (await health(client)) === 503);
});

test("a role's statement_timeout and transaction_timeout end no transaction of a start or a command", { skip }, async (context) => {
  const url = await postgres.createDatabase();
  const pool = openPool(context, url);
  const { rows: [{ isKnown }] } = await pool.query(
    `SELECT EXISTS (SELECT FROM pg_settings WHERE name = 'transaction_timeout') AS "isKnown"`,
  );
  for (const name of ["statement_timeout", ...(isKnown ? ["transaction_timeout"] : [])]) {
    await postgres.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${name} = '100ms'`);
  }
  const bounded = new Database(openPool(context, url), assert.fail);
  await assert.rejects(bounded.run("SELECT pg_sleep(0.3)"), /timeout/);
  const [row] = await bounded.transaction(async (query) => {
    await query("SELECT pg_sleep(0.3)");
    return query("SELECT 1 AS one");
  });
  assert.equal(row.one, 1);
  bounded.close();
});

test("the manual's line of psql writes animals that an import takes", { skip }, async (context) => {
  const manual = readFileSync(join(import.meta.dirname, "../../src/manual/several-instances.md"), "utf8");
  const [, line] = /^\$ (psql -At .*)$/m.exec(manual);
  const url = await postgres.createDatabase();
  const { client } = await serve(context, { address: url, key: await createKey(["--database", url]) });
  const pets = [
    { name: "Rex", categoryId: 1, status: "available" }, { name: 'a\\"b\n\u2028é🐕', categoryId: -7, status: "sold" },
  ];
  for (const pet of [...pets, pets[0]]) {
    assert.equal((await client.add(pet)).status, 201);
  }
  assert.equal((await client.send("DELETE", "/v1/pets/3", { headers: { "if-match": "*" } })).status, 204);
  const folder = guardedFolder("bodies");
  execFileSync("sh", ["-c", line], { cwd: folder, env: { ...process.env, ANIMAL_STORE_DATABASE: url } });
  const data = join(folder, "data");
  assert.equal((await runCommand(["import", join(folder, "animals.jsonl"), "--data", data])).stdout, "imported 2 animals\n");
  const imported = readFileSync(join(data, "pets.jsonl"), "utf8").trim().split("\n").map((text) => JSON.parse(text));
  assert.deepEqual(imported.map(({ name, categoryId, status }) => ({ name, categoryId, status })), pets);
});

test("an instance opens no more connections than it may", { skip }, async (context) => {
  const url = await postgres.createDatabase();
  const key = await createKey(["--database", url], "enterprise");
  const { client } = await serve(context, { address: url, key }, ["--database-connections", "2"]);
  const added = await Promise.all(Array.from({ length: 100 }, () => client.add({ name: "Rex", categoryId: 1 })));
  assert.ok(added.every(({ status }) => status === 201));
  const rows = await postgres.query("SELECT FROM pg_stat_activity WHERE application_name = 'animal-store' AND datname = $1", [new URL(url).pathname.slice(1)]);
  assert.ok(rows.length <= 2, `${rows.length}`);
});
