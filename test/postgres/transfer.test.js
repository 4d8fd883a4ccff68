/**
 * `import`: what a data folder holds is moved into a database, all of it or nothing.
 */

import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { lineWithChecksum } from "../../build/src/base/checksum.js";
import { systemClock } from "../../build/src/base/clock.js";
import { nodeDisk } from "../../build/src/disk/node-disk.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { openPetStore } from "../../build/src/store/json-lines-pet-store.js";
import { newClient } from "../../build/test/support/client.js";
import { seeded } from "../../build/test/support/seeded-random.js";
import { until } from "../../build/test/support/until.js";
import { always } from "../../build/test/support/store-suites/suite-steps.js";
import { lockWaits } from "./faults.js";
import { guardedFolder, processesIn, sendSignal } from "./guarded-folder.js";
import { makeSchema } from "./make-schema.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { createKey, runCommand as run, startProgram } from "./program.js";

/** Most databases here are new. That this is told is tested in migration.test.js. */
async function runCommand(...command) {
  const { stderr, ...others } = await run(...command);
  return { ...others, stderr: stderr.replace("made the schema animal_store\n", "") };
}

const names = ["Rex", 'A "quoted", \\ name', "éàü 🐕‍🦺", "a\tb\u007f\u2028", '","categoryId":7,"status":"sold', "'; DROP --", "{}", "\\N"];
const statuses = ["available", "pending", "sold"];
const categoryIds = ["0", "-9223372036854775808", "9223372036854775807", "42"];

const oncePet = (index) => ({ name: `Once ${index}`, categoryId: index, status: "sold" });

const postgres = await startPostgres();
after(() => postgres?.stop());
/** A data folder with animals of every kind, a key with a used quota of the day, and hashes of the keys "once-…". */
const folder = guardedFolder("data");
const flags = ["--plan", "enterprise", "--per-minute", "100000", "--per-day", "50000", "--data", folder];
const key = (await runCommand(["keys", "create", ...flags])).stdout.trim();
const [, otherId] = /^made (\S+)/.exec((await runCommand(["keys", "create", "--data", folder])).stderr);
for (const change of [["label", otherId, "till"], ["expire", otherId, "2100-01-31"], ["revoke", otherId]]) {
  assert.equal((await runCommand(["keys", ...change, "--data", folder])).code, 0);
}
await addMany(["--data", folder], 3_000);
await serving(["--data", folder], key, async (client) => {
  for (const index of [1, 2, 3]) {
    assert.equal((await client.add(oncePet(index), { "idempotency-key": `once-${index}` })).status, 201);
  }
});

/** Adds animals by `import` of NewPet lines. */
async function addMany(store, count) {
  const lines = Array.from({ length: count }, (_, index) => {
    const name = JSON.stringify(`${names[index % names.length]} ${index}`);
    return `{"name":${name},"categoryId":${categoryIds[index % 4]},"status":"${statuses[index % 3]}"}\n`;
  });
  const file = join(guardedFolder("animals"), "animals.jsonl");
  writeFileSync(file, lines.join(""));
  const { code, stdout, stderr } = await runCommand(["import", file, ...store]);
  assert.deepEqual([code, stdout], [0, `imported ${count} animals\n`], stderr);
}

/** Serves what is kept, runs `use` with a client, and stops. */
async function serving(store, bearer, use) {
  const program = await startProgram(store);
  const client = newClient(program, bearer);
  try {
    await use(client, program);
  } finally {
    client.close();
    await program.stop();
  }
}

async function allPets(client) {
  const pages = [];
  for (let after = 0, page; page === undefined || page.length === 100; after += 100) {
    const { status, text } = await client.get(`/v1/pets?limit=100&after=${after}`);
    assert.equal(status, 200, text);
    page = JSON.parse(text);
    pages.push(text.slice(1, -1));
  }
  return pages.join(",");
}

/** What is left of the day, and when it ends. */
async function quotaOf(client) {
  const { headers } = await client.get("/v1/pets/1");
  return { remaining: Number(headers["x-ratelimit-remaining"]), resetSeconds: Number(headers["x-ratelimit-reset"]) };
}

/** The numbers of rows, of a database that the program has prepared. */
async function rowCounts(url) {
  const [row] = await postgres.query(
    `SELECT (SELECT count(*)::int FROM animal_store.pets) AS pets, (SELECT count(*)::int FROM animal_store.key_events) AS events,
      (SELECT count(*)::int FROM animal_store.once) AS once, (SELECT count(*)::int FROM animal_store.limits) AS limits,
      (SELECT last::int FROM animal_store.counter) AS last`, [], url);
  return row;
}
const nothing = { pets: 0, events: 0, once: 0, limits: 0, last: 0 };

test("a data folder moved into a database keeps animals, ids, keys, limits and idempotency", { skip }, async () => {
  let served;
  let quota;
  await serving(["--data", folder], key, async (client) => {
    served = await allPets(client);
    quota = await quotaOf(client);
  });
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  const imported = await runCommand(["import", folder, ...store]);
  assert.deepEqual(imported, { code: 0, stdout: "imported 3003 animals and 2 keys, 1 of them active\n", stderr: "" });
  assert.equal((await runCommand(["keys", "list", ...store])).stdout, (await runCommand(["keys", "list", "--data", folder])).stdout);

  await serving(store, key, async (client) => {
    const { remaining, resetSeconds } = await quotaOf(client);
    assert.equal(remaining, quota.remaining - 1, "the quota goes on where it was");
    assert.ok(Math.abs(resetSeconds - quota.resetSeconds) <= 1, `${resetSeconds} ${quota.resetSeconds}`);
    const again = await client.add(oncePet(2), { "idempotency-key": "once-2" });
    assert.deepEqual([again.status, again.headers["idempotent-replayed"], JSON.parse(again.text).id], [201, "true", 3_002]);
    assert.equal(await allPets(client), served);
    assert.equal(JSON.parse((await client.add({ name: "New", categoryId: 1 })).text).id, 3_004);
  });
});

test("a folder is refused by a database that has animals or keys, which stays as it was", { skip }, async () => {
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  await addMany(store, 2);
  const refused = await runCommand(["import", folder, ...store]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^Cannot import .*: the database has 2 animals, .*; nothing was imported\n$/);
  await createKey(store);
  const before = await rowCounts(url);
  const keysRefused = await runCommand(["import", folder, ...store]);
  assert.match(keysRefused.stderr, /^Cannot import .*: the database has keys, .*; nothing was imported\n$/);
  assert.deepEqual(await rowCounts(url), before);
});

test("a torn tail is left out with a warning; other damage is refused, and nothing is imported", { skip }, async () => {
  const url = await postgres.createDatabase();
  const log = readFileSync(join(folder, "pets.jsonl"));
  const damagedFolder = guardedFolder("damaged");
  const path = join(damagedFolder, "pets.jsonl");
  const damaged = Buffer.from(log);
  damaged[log.length - 400] ^= 1;
  const larger = Buffer.concat([log, Buffer.alloc(1_048_577, "x")]); // Than any group, so no unfinished write.
  for (const content of [damaged, larger]) {
    writeFileSync(path, content);
    const refused = await runCommand(["import", damagedFolder, "--database", url]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^Cannot import .* is damaged at line 3\d{3}, byte \d+: .*; nothing was imported\n$/);
    assert.deepEqual(await rowCounts(url), nothing);
  }
  writeFileSync(path, log);
  appendFileSync(path, '{"id":3004,"na');
  const imported = await runCommand(["import", damagedFolder, "--database", url]);
  assert.deepEqual([imported.code, imported.stdout], [0, "imported 3003 animals and 0 keys\n"]);
  assert.match(imported.stderr, /^warning: the last 14 bytes of .* are an unfinished write .*; what is before them is imported\n$/);
});

test("keys.jsonl that is damaged is refused", { skip }, async () => {
  const url = await postgres.createDatabase();
  const damagedFolder = guardedFolder("damaged-keys");
  const [line] = readFileSync(join(folder, "keys.jsonl"), "utf8").split("\n");
  writeFileSync(join(damagedFolder, "keys.jsonl"), `${line.replace("enterprise", "Enterprise")}\n${line}\n`);
  const refused = await runCommand(["import", damagedFolder, "--database", url]);
  assert.match(refused.stderr, /^Cannot import .*keys\.jsonl is damaged at line 1, byte 0: .*; nothing was imported\n$/);
  assert.deepEqual(await rowCounts(url), nothing);

  assert.equal((await runCommand(["import", folder, "--database", url])).code, 0);
  assert.equal((await rowCounts(url)).once, 3);
});

/** Runs `use` while an import of the folder waits, with its animals inserted, for a table. @returns how it ended */
async function whileImporting(url, use) {
  await makeSchema(url);
  const holder = new pg.Client({ connectionString: url });
  holder.on("error", () => undefined);
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE animal_store.once IN SHARE ROW EXCLUSIVE MODE"); // It may be read.
  const cwd = guardedFolder("waiting");
  const running = runCommand(["import", folder, "--database", url], { cwd });
  await lockWaits(postgres, url);
  await use(cwd, holder);
  const ended = await running;
  await holder.end();
  return ended;
}

test("an import that is killed, or whose connection ends, leaves nothing behind, and can be run again", { skip }, async () => {
  const url = await postgres.createDatabase();
  await whileImporting(url, (cwd) => processesIn(cwd).forEach((pid) => sendSignal(pid, "SIGKILL")));
  await until("its connection has ended", async () => (await postgres.backends(url)).length === 0);
  assert.deepEqual(await rowCounts(url), nothing);
  const ended = await whileImporting(url, async () => {
    const own = (await postgres.backends(url)).filter(({ application_name: name }) => name === "animal-store");
    await postgres.query("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", [own.map(({ pid }) => pid)]);
  });
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /^Cannot import [^\n]*; nothing was imported\n$/);
  assert.deepEqual(await rowCounts(url), nothing);
  assert.equal((await runCommand(["import", folder, "--database", url])).code, 0);
});

test("while a server holds the folder an import is refused, and an import of a folder without data", { skip }, async () => {
  const database = ["--database", await makeSchema(await postgres.createDatabase())];
  const empty = guardedFolder("empty");
  const refused = await runCommand(["import", empty, ...database]);
  assert.deepEqual([refused.code, refused.stderr], [1, `Cannot import ${empty}: it has none of keys.jsonl, limits.json, pets.jsonl\n`]);
  await serving(["--data", folder], key, async () => {
    const { code, stderr } = await runCommand(["import", folder, ...database]);
    assert.deepEqual([code, stderr.startsWith("Cannot run import: another server or command uses the folder")], [1, true], stderr);
  });
});

const onceText = (letter) => letter.repeat(22);
/** The line of an animal whose create carried a hash. */
const onceLine = (id, letter, atSeconds) => lineWithChecksum(
  `{"id":${id},"name":"Rex","categoryId":1,"status":"sold","group":${id},"once":"${onceText(letter)}","at":${atSeconds}}`);

test("of a hash that was used again the later animal is moved, an old one is not, and one of the future counts from now", { skip }, async () => {
  const url = await postgres.createDatabase();
  const [nowSeconds, hour] = [Math.floor(Date.now() / 1_000), 3_600];
  const lines = [onceLine(1, "O", nowSeconds - 25 * hour), onceLine(2, "A", nowSeconds - 9 * hour), onceLine(3, "F", nowSeconds + 9 * hour)];
  while (lines.length < 10_000) { // So many that they are moved in several pieces.
    lines.push(lineWithChecksum(`{"id":${lines.length + 1},"name":"Rex","categoryId":1,"status":"sold","group":${lines.length + 1}}`));
  }
  lines.push(onceLine(10_001, "A", nowSeconds - 8 * hour), onceLine(10_002, "A", nowSeconds - 7 * hour));
  const hashed = guardedFolder("hashes");
  writeFileSync(join(hashed, "pets.jsonl"), lines.join(""));
  const imported = await runCommand(["import", hashed, "--database", url]);
  assert.deepEqual(imported, { code: 0, stdout: "imported 10002 animals and 0 keys\n", stderr: "" });
  const ages = "round(extract(epoch FROM now() - at) / 3600)::int AS hours";
  const moved = await postgres.query(`SELECT hash, pet_id::int AS id, ${ages} FROM animal_store.once ORDER BY 1`, [], url);
  assert.deepEqual(moved, [
    { hash: onceText("A"), id: 10_002, hours: 7 },
    { hash: onceText("F"), id: 3, hours: 0 },
  ]);
});

test("a moved idempotency key counts for at least 24 hours from the create, whose second alone the file has", { skip }, async () => {
  const url = await postgres.createDatabase();
  const atSeconds = Math.floor(Date.now() / 1_000) - 3_600;
  const hashed = guardedFolder("hashes");
  writeFileSync(join(hashed, "pets.jsonl"), onceLine(1, "A", atSeconds));
  assert.equal((await runCommand(["import", hashed, "--database", url])).code, 0);
  const [{ at }] = await postgres.query("SELECT at FROM animal_store.once", [], url);
  assert.ok(at >= new Date(atSeconds * 1_000 + 999), `${at.toISOString()}`);
});

test("a torn keys.jsonl and a damaged limits.json are moved as far as they are intact, with a warning for each", { skip }, async () => {
  const url = await postgres.createDatabase();
  const torn = guardedFolder("torn");
  writeFileSync(join(torn, "keys.jsonl"), `${readFileSync(join(folder, "keys.jsonl"), "utf8")}{"event":"ma`);
  writeFileSync(join(torn, "limits.json"), "{}\n");
  const { code, stdout, stderr } = await runCommand(["import", torn, "--database", url]);
  assert.deepEqual([code, stdout], [0, "imported 0 animals and 2 keys, 1 of them active\n"], stderr);
  assert.match(stderr, /^warning: left out limits\.json: it .*; all limits start unused\nwarning: the last 12 bytes of \S+keys\.jsonl, .*; what is before them is imported\n$/);
});

test("an animal and a key that are made while an import runs come after those of the folder", { skip }, async () => {
  const url = await postgres.createDatabase();
  let made;
  const ended = await whileImporting(url, async (_cwd, holder) => {
    made = Promise.all([
      postgres.query(`SELECT animal_store.add(gen_random_uuid(), '[{"name":"Late","categoryId":1,"status":"sold"}]', '{null}')::text AS answer`, [], url),
      postgres.query("SELECT animal_store.append_key_event(1, 'late', NULL, NULL) AS is_appended", [], url),
    ]);
    await lockWaits(postgres, url, { of: "Late|late", count: 2 });
    await holder.query("ROLLBACK");
  });
  assert.equal(ended.code, 0, ended.stderr);
  const [[added], [appended]] = await made;
  assert.deepEqual([JSON.parse(added.answer).last, appended.is_appended], [3_004, false]);
});

test("an import whose connection ends in its last statement says that all of it may be there", { skip }, async () => {
  const url = await postgres.createDatabase();
  await makeSchema(url);
  await postgres.query(`
    CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON animal_store.counter DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION break()`, [], url);
  const { code, stderr } = await runCommand(["import", folder, "--database", url]);
  assert.equal(code, 1);
  assert.match(stderr, /^Cannot import [^\n]*; all of it may have been imported: see check\n$/);
});

test("whatever a folder's animals have gone through, a database has their versions, lists and replays", { skip }, seeded(async (random, context) => {
  const folder = guardedFolder("history");
  const fill = await openPetStore({ disk: nodeDisk, dataDir: folder, report: assert.fail });
  const statuses = ["available", "pending", "sold"];
  const names = ["Rex", "Mimi", `日本 \\'"{NULL}`, '","categoryId":7,"status":"'];
  const categories = [1n, 2n, 2n ** 63n - 1n, -(2n ** 63n)];
  const first = []; // What each request with a hash was, and what came of it.
  let count = 0;
  const hashOf = (number) => String(number).padStart(22, "h");
  const valuesOf = () => ({ name: random.pick(names), categoryId: random.pick(categories), status: random.pick(statuses) });
  const noteFirst = async (send) => {
    const hash = hashOf(first.length);
    const outcome = await send(fill, hash);
    const isStored = !["mismatch", "absent"].includes(outcome.kind);
    first.push(isStored ? { send: (store) => send(store, hash), outcome } : undefined);
  };
  const step = () => {
    const [id, isHashed] = [random.integer(1, Math.max(1, count)), random.oneIn(2)];
    const { name, categoryId, status } = valuesOf();
    let send = (store, hash) => store.add({ name, categoryId, status }, hash);
    if (count > 5 && !random.oneIn(4)) {
      const change = { ...(random.oneIn(2) && { name }), ...(random.oneIn(3) && { categoryId }), status };
      send = random.oneIn(12) ? (store, hash) => store.remove(id, always, hash) : (store, hash) => store.change(id, change, always, hash);
    } else {
      count += 1;
    }
    return isHashed ? noteFirst(send) : send(fill, undefined);
  };
  for (let round = 0; round < 400; round += 1) {
    await step();
  }
  // More than one statement takes, so that some are corrected in another one.
  await Promise.all(Array.from({ length: 6_000 }, () => fill.add(valuesOf())));
  count += 6_000;
  for (let round = 0; round < 400; round += 1) {
    await step();
  }
  const stateOf = async (store) => {
    const animals = await Promise.all(Array.from({ length: count + 1 }, (_, index) => store.get(index + 1)));
    const queries = [undefined, ...categories].flatMap((categoryId) => [undefined, ...statuses].map((status) => ({ after: 0, limit: 10_000, status, categoryId })));
    const lists = await Promise.all(queries.map((query) => store.list(query)));
    return [animals.map((one) => one && { version: one.version, json: String(one.json) }), lists.map(({ json }) => String(json))];
  };
  const expected = await stateOf(fill);
  await fill.close();
  const url = await postgres.createDatabase();
  const { code, stderr } = await runCommand(["import", folder, "--database", url]);
  assert.equal(code, 0, stderr);
  const store = new PostgresPetStore(new Database(openPool(context, url), assert.fail), systemClock);
  const verify = async () => {
    for (const { send, outcome } of first.filter(Boolean)) {
      const again = await send(store);
      assert.deepEqual({ ...again, json: String(again.json) }, { ...outcome, json: String(outcome.json), isReplay: true });
    }
  };
  await verify();
  assert.deepEqual(await stateOf(store), expected);
  assert.equal((await store.add(valuesOf())).id, count + 1);
  await Promise.all(Array.from({ length: count / 3 }, (_, index) => store.change(3 * index + 1, { name: "of the database" }, always)));
  await verify();
}));
