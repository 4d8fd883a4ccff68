/**
 * `import` and `export`: what a data folder holds is moved into a database and out again, all of it or nothing.
 */

import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { skip, startPostgres } from "./postgres-server.js";
import { guardedFolder, processesIn, sendSignal, until } from "./guarded-folder.js";
import { createKey, newClient, runCommand, startProgram } from "./program.js";

const names = ["Rex", 'A "quoted", \\ name', "éàü 🐕‍🦺", "a\tb\u007f\u2028", '","categoryId":7,"status":"sold', "'; DROP --", "{}", "\\N"];
const statuses = ["available", "pending", "sold"];
const categoryIds = ["0", "-9223372036854775808", "9223372036854775807", "42"];

let postgres;
/** A data folder with animals of every kind, a key with a used quota of the day, and hashes of the keys "once-…". */
let folder;
let key;
before(async () => {
  postgres = await startPostgres();
  if (postgres !== undefined) {
    folder = guardedFolder("data");
    const flags = ["--plan", "enterprise", "--per-minute", "100000", "--per-day", "50000", "--data", folder];
    key = (await runCommand(["keys", "create", ...flags])).stdout.trim();
    await addMany(["--data", folder], 3_000);
    await serving(["--data", folder], key, async (client) => {
      for (const index of [1, 2, 3]) {
        assert.equal((await client.add(oncePet(index), { "idempotency-key": `once-${index}` })).status, 201);
      }
    });
  }
});
after(() => postgres?.stop());

const oncePet = (index) => ({ name: `Once ${index}`, categoryId: index, status: "sold" });

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

/** The lines of a pets.jsonl without what depends on groups. */
function animalsIn(dataFolder) {
  return readFileSync(join(dataFolder, "pets.jsonl"), "utf8").replaceAll(/"group":\d+,|"crc":"[0-9a-f]{8}"/g, "");
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

test("a data folder moved into a database and out again keeps animals, ids, keys, limits and idempotency", { skip }, async () => {
  let served;
  let quota;
  await serving(["--data", folder], key, async (client) => {
    served = await allPets(client);
    quota = await quotaOf(client);
  });
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  const imported = await runCommand(["import", folder, ...store]);
  assert.deepEqual(imported, { code: 0, stdout: "imported 3003 animals and 1 key\n", stderr: "" });
  assert.equal((await runCommand(["keys", "list", ...store])).stdout, (await runCommand(["keys", "list", "--data", folder])).stdout);

  const backup = guardedFolder("backup");
  const exported = await runCommand(["export", backup, ...store]);
  assert.deepEqual(exported, { code: 0, stdout: "exported 3003 animals and 1 key\n", stderr: "" });
  assert.equal(animalsIn(backup), animalsIn(folder));
  assert.equal(readFileSync(join(backup, "keys.jsonl"), "utf8"), readFileSync(join(folder, "keys.jsonl"), "utf8"));
  const checked = await runCommand(["check", "--data", backup]);
  assert.deepEqual([checked.code, checked.stdout.includes("is sound: 3003 animals")], [0, true], checked.stdout);

  for (const place of [store, ["--data", backup]]) {
    await serving(place, key, async (client) => {
      const { remaining, resetSeconds } = await quotaOf(client);
      assert.equal(remaining, quota.remaining - 1, "the quota goes on where it was");
      assert.ok(Math.abs(resetSeconds - quota.resetSeconds) <= 1, `${resetSeconds} ${quota.resetSeconds}`);
      const again = await client.add(oncePet(2), { "idempotency-key": "once-2" });
      assert.deepEqual([again.status, again.headers["idempotent-replayed"], JSON.parse(again.text).id], [201, "true", 3_002]);
      assert.equal(await allPets(client), served);
      assert.equal(JSON.parse((await client.add({ name: "New", categoryId: 1 })).text).id, 3_004);
    });
  }
});

test("a pets.jsonl is moved into an empty catalogue while a server runs, and refused by one with animals", { skip }, async () => {
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  const bearer = await createKey(store);
  await serving(store, bearer, async (client) => {
    const imported = await runCommand(["import", join(folder, "pets.jsonl"), ...store]);
    assert.deepEqual(imported, { code: 0, stdout: "imported 3003 animals\n", stderr: "" });
    assert.equal(JSON.parse((await client.get("/v1/pets/3003")).text).name, "Once 3");
    assert.equal(JSON.parse((await client.add({ name: "New", categoryId: 1 })).text).id, 3_004);
  });
  const before = await rowCounts(url);
  const refused = await runCommand(["import", join(folder, "pets.jsonl"), ...store]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^Cannot import .*: the database has 3004 animals, .*; nothing was imported\n$/);
  const folderRefused = await runCommand(["import", folder, ...store]);
  assert.match(folderRefused.stderr, /^Cannot import .*: the database has keys, .*; nothing was imported\n$/);
  assert.deepEqual(await rowCounts(url), before);
});

test("a torn tail is left out with a warning; other damage is refused, and nothing is imported", { skip }, async () => {
  const url = await postgres.createDatabase();
  const log = readFileSync(join(folder, "pets.jsonl"));
  const damagedFolder = guardedFolder("damaged");
  const path = join(damagedFolder, "pets.jsonl");
  const damaged = Buffer.from(log);
  damaged[log.length - 400] ^= 1;
  writeFileSync(path, damaged);
  for (const source of [path, damagedFolder]) {
    const refused = await runCommand(["import", source, "--database", url]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^Cannot import .* is damaged at line 3\d{3}, byte \d+: .*; nothing was imported\n$/);
    assert.deepEqual(await rowCounts(url), nothing);
  }
  writeFileSync(path, log);
  appendFileSync(path, '{"id":3004,"na');
  const imported = await runCommand(["import", path, "--database", url]);
  assert.deepEqual([imported.code, imported.stdout], [0, "imported 3003 animals\n"]);
  assert.match(imported.stderr, /^warning: the last 14 bytes of .* are an unfinished write .*; the animals before them are imported\n$/);
});

test("keys.jsonl that is damaged is refused, and hashes older than 24 hours are left behind", { skip }, async () => {
  const url = await postgres.createDatabase();
  const damagedFolder = guardedFolder("damaged-keys");
  const [line] = readFileSync(join(folder, "keys.jsonl"), "utf8").split("\n");
  writeFileSync(join(damagedFolder, "keys.jsonl"), `${line.replace("enterprise", "Enterprise")}\n${line}\n`);
  const refused = await runCommand(["import", damagedFolder, "--database", url]);
  assert.match(refused.stderr, /^Cannot import .*keys\.jsonl is damaged at line 1, byte 0: .*; nothing was imported\n$/);
  assert.deepEqual(await rowCounts(url), nothing);

  assert.equal((await runCommand(["import", folder, "--database", url])).code, 0);
  assert.equal((await rowCounts(url)).once, 3);
  await postgres.query("UPDATE animal_store.once SET at = now() - interval '25 hours' WHERE pet_id = 3001", [], url);
  const backup = guardedFolder("backup");
  assert.equal((await runCommand(["export", backup, "--database", url])).code, 0);
  assert.equal(readFileSync(join(backup, "pets.jsonl"), "utf8").match(/"once":/g).length, 2);
});

/** Runs `use` while an import of the folder waits with its animals inserted. @returns how the import ended */
async function whileImporting(url, use) {
  assert.equal((await runCommand(["keys", "list", "--database", url])).code, 0); // Makes the schema.
  return whileWaitingFor(url, ["import", folder], use);
}

/** Runs `use` while the command waits for a table that `holder` has locked. */
async function whileWaitingFor(url, command, use) {
  const holder = new pg.Client({ connectionString: url });
  holder.on("error", () => undefined);
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE animal_store.once");
  const cwd = guardedFolder("waiting");
  const running = runCommand([...command, "--database", url], { cwd });
  await until("the command waits for the lock", async () => {
    const waiting = await postgres.query("SELECT FROM pg_locks WHERE relation = 'animal_store.once'::regclass AND NOT granted", [], url);
    return waiting.length > 0;
  });
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

test("an import is refused while a server holds the folder, and of a folder without data", { skip }, async () => {
  const url = await postgres.createDatabase();
  const empty = guardedFolder("empty");
  const refused = await runCommand(["import", empty, "--database", url]);
  assert.deepEqual([refused.code, refused.stderr], [1, `Cannot import ${empty}: it has none of keys.jsonl, limits.json, pets.jsonl\n`]);
  await serving(["--data", folder], key, async () => {
    const { code, stderr } = await runCommand(["import", folder, "--database", url]);
    assert.deepEqual([code, /^Cannot run import: another server holds the folder/.test(stderr)], [1, true], stderr);
  });
});

test("an export is of one instant, whatever happens while it runs", { skip }, async () => {
  const url = await postgres.createDatabase();
  assert.equal((await runCommand(["import", folder, "--database", url])).code, 0);
  const backup = guardedFolder("backup");
  const ended = await whileWaitingFor(url, ["export", backup], (_cwd, holder) => {
    return holder.query(`INSERT INTO animal_store.pets VALUES (3004, 'Late', 1, 'sold');
      UPDATE animal_store.counter SET last = 3004; COMMIT`);
  });
  assert.deepEqual(ended, { code: 0, stdout: "exported 3003 animals and 1 key\n", stderr: "" });
  assert.equal(animalsIn(backup), animalsIn(folder));
});

test("an export never replaces a file, and one that fails leaves none", { skip }, async () => {
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  assert.equal((await runCommand(["import", folder, ...store])).code, 0);
  const names = ["keys.jsonl", "limits.json", "pets.jsonl"];
  for (const name of names) {
    const taken = guardedFolder("taken");
    writeFileSync(join(taken, name), "mine");
    const { code, stderr } = await runCommand(["export", taken, ...store]);
    assert.deepEqual([code, stderr], [1, `Cannot export to ${taken}: it has a ${name} already\n`]);
    assert.deepEqual(names.filter((one) => existsSync(join(taken, one))), [name]);
    assert.equal(readFileSync(join(taken, name), "utf8"), "mine");
  }
  await postgres.query("DELETE FROM animal_store.pets WHERE id = 2000", [], url);
  const half = guardedFolder("half");
  const failed = await runCommand(["export", half, ...store]);
  assert.deepEqual([failed.code, failed.stderr], [1, "Cannot export: animal 2000 is missing in the database\n"]);
  assert.deepEqual(names.flatMap((name) => [name, `${name}.exported`]).filter((name) => existsSync(join(half, name))), []);
});
