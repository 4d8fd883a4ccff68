/**
 * `check --salvage`: what is intact in a damaged data folder goes to a new one, which is served. Which lines are intact is
 * tested in test/fault/damage-salvage.test.ts.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { salvage } from "../../src/cli/salvage.ts";
import type { Disk, DiskFile } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { newClient } from "../support/client.ts";
import { createKey, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { recordingTerminal, runHere } from "../support/terminal.ts";

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
  assert.deepEqual([code, stdout], [1, "salvaged 4 animals; what is lost is on standard error\n"]);
  assert.equal(stderr.replaceAll(/byte \d+/g, "byte N"), [
    "warning: lost: line 2, in bytes 85 to 170\n",
    "warning: lost: animal 2; no other animal gets the id\n",
    "warning: left out the line with number 7, at byte N, by which animal 2 changed: it is lost or removed\n",
  ].join(""));
  assert.deepEqual(contentOf(data), before);
  assert.deepEqual(readdirSync(target).sort(), ["keys.jsonl", "limits.json", "pets.jsonl"]);
  assert.match((await runHere(["check", "--data", target])).stdout, /has 4 animals,/);

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

test("a lost sale says so: animals may be available again", async (context) => {
  const { data, target } = await damagedFolder(context);
  spoil(join(data, "pets.jsonl"), '"name":"Max"', '"name":"Rex"');
  spoil(join(data, "pets.jsonl"), '"id":5,"status":"sold"', '"id":5,"status":"sXld"');
  const { code, stdout, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.deepEqual([code, stdout], [1, "salvaged 5 animals; what is lost is on standard error\n"]);
  assert.match(stderr, /^warning: lost: line 6, in bytes \d+ to \d+\n/);
  assert.match(stderr, /^warning: perhaps lost, if there were such: animal 6; no other animal gets the id$/m);
  const doubt = "each animal up to id 5 may be as it was earlier, also its version, or be removed";
  assert.ok(stderr.endsWith(`\nwarning: lost lines may be changes or removals: ${doubt}\n`), stderr);
});

test("what a start has set aside can be put back and salvaged: without a crash, it is no unfinished write", async (context) => {
  const folder = temporaryFolder(context);
  const [data, target, animals] = [join(folder, "data"), join(folder, "new"), join(folder, "animals")];
  writeFileSync(animals, `${JSON.stringify(rex)}\n`.repeat(5));
  assert.equal((await runHere(["import", animals, "--data", data])).code, 0);
  const [path, key] = [join(data, "pets.jsonl"), await createKey(["--data", data])];
  spoil(path, '{"id":2,"name":"Rex"', '{"id":2,"name":"Max"');
  await serving(context, data, key, async (client) => assert.match((await client.get("/v1/pets")).text, /^\[\{"id":1,[^{]*\]$/));
  writeFileSync(path, readFileSync(`${path}.torn`), { flag: "a" });
  const { code, stdout, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.deepEqual([code, stdout], [1, "salvaged 4 animals; what is lost is on standard error\n"]);
  assert.match(stderr, /^warning: lost: animal 2; no other animal gets the id$/m);
});

test("keys are never taken from a keys.jsonl with a damaged line, the last one too, which may have revoked a key", async (context) => {
  const { data, target } = await damagedFolder(context);
  const intact = readFileSync(join(data, "keys.jsonl"), "utf8");
  spoil(join(data, "limits.json"), '"version":1', '"version":2');
  const spoilt = intact.replace('"made"', '"Made"');
  for (const damaged of [`${intact}{"event":"re`, spoilt, `${spoilt}${intact}`, intact.slice(0, -1)]) {
    writeFileSync(join(data, "keys.jsonl"), damaged);
    const empty = temporaryFolder(context);
    const { code, stderr } = await runHere(["check", "--data", data, "--salvage", empty]);
    assert.equal(code, 1);
    assert.match(stderr, /^warning: left out keys\.jsonl: .*; a lost line may have revoked any key, .* from a backup, .* or make new keys$/m);
    assert.match(stderr, /^warning: left out limits\.json: it is damaged: .*$/m);
    assert.deepEqual(readdirSync(empty), ["pets.jsonl"]);
  }
  for (const name of ["keys.jsonl", "limits.json"]) {
    rmSync(join(data, name));
    mkdirSync(join(data, name));
  }
  const { code, stderr } = await runHere(["check", "--data", data, "--salvage", target]);
  assert.deepEqual([code, readdirSync(target)], [1, ["pets.jsonl"]], "files that cannot be read do not end the salvage of the animals");
  assert.equal(stderr.match(/: left out (keys\.jsonl|limits\.json): .*EISDIR/g)?.length, 2, stderr);
});

test("a block that the disk cannot read stops a salvage, with its place and advice; one that it cannot write has none", async (context) => {
  const { data } = await damagedFolder(context);
  const failure = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
  const bad = 200;
  const broken = (call: "read" | "append"): Disk => {
    const breaking = (file: DiskFile): DiskFile => ({
      ...file,
      read: (target, position) => {
        const isBad = call === "read" && position + target.length > bad;
        const good = isBad ? target.subarray(0, Math.max(bad - position, 0)) : target;
        return isBad && good.length === 0 ? Promise.reject(failure) : file.read(good, position);
      },
      append: (bytes) => (call === "append" && bytes.length > 0 ? Promise.reject(failure) : file.append(bytes)),
    });
    const isPets = (path: string): boolean => path.endsWith("pets.jsonl");
    return {
      ...nodeDisk,
      openToRead: async (path) => nodeDisk.openToRead(path).then((file) => (file && isPets(path) ? breaking(file) : file)),
      openToAppend: async (path) => nodeDisk.openToAppend(path).then((file) => (isPets(path) ? breaking(file) : file)),
    };
  };
  const empty = temporaryFolder(context);
  const salvaging = (call: "read" | "append") => {
    return salvage(empty, { kind: "folder", dataDir: data }, recordingTerminal(), broken(call));
  };
  await assert.rejects(salvaging("read"), /^Error: Cannot salvage \S+pets\.jsonl: .*byte 200 .*EIO.*ddrescue/);
  await assert.rejects(salvaging("append"), (error: Error) => /EIO/.test(error.message) && !/ddrescue/.test(error.message));
  assert.deepEqual(readdirSync(empty), []);
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
  assert.deepEqual([(await salvage(empty)).code, readdirSync(empty).length], [1, 3]);
});

test("a salvage that was killed leaves a folder that nobody starts with, and is run again", async (context) => {
  const { data, target } = await damagedFolder(context);
  mkdirSync(target);
  for (const name of ["export.unfinished", "pets.jsonl"]) {
    writeFileSync(join(target, name), "half of a li");
  }
  assert.match((await runHere(["check", "--data", target])).stdout, /an export or a salvage into it was not finished; run it again\n/);
  assert.equal((await runHere(["check", "--data", data, "--salvage", target])).code, 1);
  assert.match((await runHere(["check", "--data", target])).stdout, /has 4 animals,/);
});

test("a salvage that was killed right after it had locked the new folder is run again", async (context) => {
  const { data, target } = await damagedFolder(context);
  mkdirSync(target);
  const dead = createServer().listen(join(target, "socket"));
  await once(dead, "listening");
  renameSync(join(target, "socket"), join(target, "server.lock")); // So nothing removes it.
  dead.close();
  await once(dead, "close");
  writeFileSync(join(target, "server.lock.0123456789abcdef"), "");
  assert.equal((await runHere(["check", "--data", data, "--salvage", target])).code, 1);
  assert.match((await runHere(["check", "--data", target])).stdout, /has 4 animals,/);
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
