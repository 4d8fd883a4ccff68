/**
 * `check --salvage`: what is sound in a damaged data folder goes to a new one, which is served. Which lines are sound is
 * tested in test/fault/damage-salvage.test.ts.
 */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { newClient } from "../support/client.ts";
import { createKey, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";

const rex = { name: "Rex", categoryId: 1 };

interface Damaged {
  readonly data: string;
  readonly target: string;
  readonly key: string;
}

/** A folder in which the line of animal 2 is damaged. Animal 4 was added with the idempotency key "four", and 5 was sold. */
async function damagedFolder(context: TestContext): Promise<Damaged> {
  const folder = temporaryFolder(context);
  const [data, target] = [join(folder, "data"), join(folder, "new")];
  const key = await createKey(["--data", data]);
  await serving(context, data, key, async (client) => {
    for (const id of [1, 2, 3, 4, 5]) {
      assert.equal((await client.add(rex, id === 4 ? { "idempotency-key": "four" } : {})).status, 201);
    }
    assert.equal((await client.change(5, "sold", { "if-match": "*" })).status, 200);
    assert.equal((await client.change(2, "sold", { "if-match": "*" })).status, 200);
  });
  spoil(join(data, "pets.jsonl"), '{"id":2,"name":"Rex"', '{"id":2,"name":"Max"');
  return { data, target, key };
}

function spoil(path: string, from: string, to: string): void {
  const content = readFileSync(path, "utf8");
  assert.ok(content.includes(from));
  writeFileSync(path, content.replace(from, to));
}

async function serving(
  context: TestContext,
  data: string,
  key: string,
  use: (client: ReturnType<typeof newClient>) => Promise<void>,
): Promise<void> {
  const program = await start(context, ["--data", data]);
  const client = newClient(program, key);
  await use(client);
  client.close();
  assert.equal(await program.stop("SIGTERM"), 0);
}

/** The names and contents of a folder's files. */
function contentOf(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder).sort().map((name) => [name, readFileSync(join(folder, name), "latin1")]);
}

test("what is salvaged is served: other animals as they were, and a lost one is 404, in no list, and its id is not given again", async (context) => {
  const { data, target, key } = await damagedFolder(context);
  const before = contentOf(data);
  const { code, stdout, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.deepEqual([code, stdout], [0, "salvaged 4 animals\n"]);
  assert.equal(stderr.replaceAll(/byte \d+/g, "byte N"), [
    "warning: left out line 2, byte N: damaged or missing\n",
    "warning: left out id 2, which no animal will have\n",
    "warning: left out line 7, byte N: it changes animal 2, which is left out\n",
  ].join(""));
  assert.deepEqual(contentOf(data), before);
  assert.deepEqual(readdirSync(target).sort(), ["keys.jsonl", "limits.json", "pets.jsonl"]);
  assert.match((await runHere(["check", "--data", target])).stdout, /is sound: 4 animals\n/);

  const animal = (id: number, status = "available"): string => `{"id":${id},"name":"Rex","categoryId":1,"status":"${status}"}`;
  await serving(context, target, key, async (client) => {
    assert.equal((await client.get("/v1/pets")).text, `[${animal(1)},${animal(3)},${animal(4)},${animal(5, "sold")}]`);
    const page = await client.get("/v1/pets?limit=2");
    assert.equal(page.text, `[${animal(1)},${animal(3)}]`);
    assert.match(String(page.headers["link"]), /[?&]after=3>; rel="next"$/);
    const last = await client.get("/v1/pets?limit=2&after=3");
    assert.deepEqual([last.text, last.headers["link"]], [`[${animal(4)},${animal(5, "sold")}]`, undefined]);
    assert.equal((await client.get("/v1/pets?status=available&after=1&limit=1")).text, `[${animal(3)}]`);
    assert.equal((await client.get("/v1/pets/2")).status, 404);
    assert.equal((await client.change(2, "sold", { "if-match": "*" })).status, 404);
    const again = await client.add(rex, { "idempotency-key": "four" });
    assert.deepEqual([again.text, again.headers["idempotent-replayed"]], [animal(4), "true"]);
    assert.equal((await client.add(rex)).text, animal(6));
  });
});

test("a damaged keys.jsonl and limits.json are not copied, and that is said", async (context) => {
  const { data, target } = await damagedFolder(context);
  await createKey(["--data", data]); // Before a sound line, damage is no unfinished write.
  spoil(join(data, "keys.jsonl"), '"made"', '"Made"');
  spoil(join(data, "limits.json"), '"version":1', '"version":2');
  const { code, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.equal(code, 0);
  assert.match(stderr, /^warning: left out keys\.jsonl: Cannot read keys: .* is damaged at line 1, byte 0: .*$/m);
  assert.match(stderr, /^warning: left out limits\.json: it is damaged$/m);
  assert.deepEqual(readdirSync(target), ["pets.jsonl"]);
});

test("an unfinished end of keys.jsonl is copied for a start to set aside, and that is said", async (context) => {
  const { data, target, key } = await damagedFolder(context);
  writeFileSync(join(data, "keys.jsonl"), '{"event":"re', { flag: "a" });
  const { code, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.deepEqual([code, /^warning: .*keys\.jsonl ends in 12 bytes .*; the last change of a key has no effect$/m.test(stderr)], [0, true], stderr);
  await serving(context, target, key, async (client) => assert.equal((await client.get("/v1/pets/1")).status, 200));
});

test("a salvage writes to an empty folder only, and one that fails leaves it empty", async (context) => {
  const { data, target } = await damagedFolder(context);
  const salvage = (...args: string[]) => runHere(["check", "--data", data, "--salvage", ...args]);
  const own = await salvage(data);
  assert.deepEqual([own.code, own.stderr], [1, `Cannot salvage to ${data}: it is not empty\n`]);
  mkdirSync(target);
  writeFileSync(join(target, "notes.txt"), "mine");
  const taken = await salvage(target);
  assert.deepEqual([taken.code, taken.stderr, readdirSync(target)], [1, `Cannot salvage to ${target}: it is not empty\n`, ["notes.txt"]]);

  const empty = temporaryFolder(context);
  const path = join(data, "pets.jsonl");
  const content = readFileSync(path, "utf8");
  writeFileSync(path, lineWithChecksum('{"colour":"red"}'));
  const newer = await salvage(empty);
  assert.match(newer.stderr, /^Cannot salvage \S+: byte 0: an unknown member: a newer release wrote the line; start that one\n$/);
  assert.deepEqual([newer.code, readdirSync(empty)], [1, []]);
  writeFileSync(path, content);
  assert.deepEqual([(await salvage(empty)).code, readdirSync(empty).length], [0, 3]);
});

test("a salvage that was killed leaves a folder that nobody starts with, and is run again", async (context) => {
  const { data, target } = await damagedFolder(context);
  mkdirSync(target);
  for (const name of ["export.unfinished", "pets.jsonl"]) {
    writeFileSync(join(target, name), "half of a li");
  }
  assert.match((await runHere(["check", "--data", target])).stdout, /an export or a salvage into it was not finished; run it again\n/);
  assert.equal((await runHere(["check", "--data", data, "--salvage", target])).code, 0);
  assert.match((await runHere(["check", "--data", target])).stdout, /is sound: 4 animals\n/);
});

test("a salvage needs the name of a folder, and a folder with a pets.jsonl", async (context) => {
  const data = temporaryFolder(context);
  const target = join(data, "new");
  for (const [args, code, text] of [
    [["--data", data, "--salvage"], 2, "Cannot use --salvage: its value is missing"],
    [["--data", data, "--salvage", ""], 2, "Cannot use --salvage: name a folder, a new one or an empty one"],
    [["--database", "postgres://127.0.0.1/x", "--salvage", target], 2, "Cannot salvage a database: name a data folder with --data"],
    [["--data", data, "--salvage", target], 1, `Cannot salvage ${join(data, "pets.jsonl")}: there is no such file`],
  ] as const) {
    const salvaged = await runHere(["check", ...args]);
    assert.deepEqual([salvaged.code, salvaged.stderr], [code, `${text}\n`]);
  }
  assert.deepEqual(readdirSync(data), []);
});
