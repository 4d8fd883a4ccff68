/**
 * `import`: the whole file is validated as the API does before the first animal is added.
 */

import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { systemClock } from "../../src/base/clock.ts";
import { importAnimals } from "../../src/cli/import.ts";
import { lock } from "../../src/disk/lock.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { newClient } from "../support/client.ts";
import { createKey, programPath, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { recordingTerminal, runHere } from "../support/terminal.ts";

function folderWith(context: TestContext, lines: readonly string[]): { data: string; file: string } {
  const folder = temporaryFolder(context);
  const file = join(folder, "animals.jsonl");
  writeFileSync(file, lines.join("\n"));
  return { data: join(folder, "data"), file };
}

test("import names the first twenty bad lines, and adds nothing", async (context) => {
  const good = '{"name":"Rex","categoryId":1}';
  const lines = [good, ...Array<string>(25).fill('{"name":"","categoryId":1.5,"id":3}'), good];
  const { data, file } = folderWith(context, lines);
  const imported = await runHere(["import", file, "--data", data]);
  assert.equal(imported.code, 1);
  assert.equal(imported.stdout, "");
  const named = imported.stderr.trimEnd().split("\n");
  assert.equal(named.length, 21);
  named.slice(0, 20).forEach((line, index) => assert.match(line, new RegExp(`line ${index + 2}: .*name.*categoryId.*id`)));
  assert.match(named[20] ?? "", /25 of 27 lines are not valid; the first 20 are named; nothing was imported/);
  assert.match((await runHere(["check", "--data", data])).stdout, /has 0 animals,/);
});

test("import takes a line of 16,384 bytes, as a create takes content, and refuses one that is a byte longer", async (context) => {
  const line = '{"name":"Rex","categoryId":1}'.padEnd(16_384);
  const taken = folderWith(context, [line]);
  assert.equal((await runHere(["import", taken.file, "--data", taken.data])).stdout, "imported 1 animal\n");
  const refused = folderWith(context, [line, `${line} `]);
  const { code, stderr } = await runHere(["import", refused.file, "--data", refused.data]);
  const start = `${refused.file} line 2: The line is longer than 16384 bytes.\n`;
  assert.deepEqual([code, stderr], [1, `${start}Cannot import ${refused.file}: 1 of 2 lines is not valid; nothing was imported\n`]);
});

test("import adds every animal in order, and says the total once", async (context) => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `{"name":"Animal ${index}","categoryId":${index}}`);
  const { data, file } = folderWith(context, lines);
  const imported = await runHere(["import", file, "--data", data]);
  assert.deepEqual(imported, { code: 0, stdout: "imported 10000 animals\n", stderr: "" });
  const kept = readFileSync(join(data, "pets.jsonl"), "utf8").trimEnd().split("\n");
  assert.equal(kept.length, lines.length);
  const wrong = kept.findIndex((line, index) => {
    return !line.startsWith(`{"id":${index + 1},"name":"Animal ${index}","categoryId":${index},"status":"available"`);
  });
  assert.equal(wrong, -1);
});

test("import shows its progress on a terminal, and nowhere else", async (context) => {
  let nowMs = 0;
  context.mock.method(systemClock, "monotonicMs", () => (nowMs += 60_000));
  for (const isWatched of [true, false]) {
    const { data, file } = folderWith(context, Array<string>(2_000).fill('{"name":"Rex","categoryId":1}'));
    const terminal = recordingTerminal({}, isWatched);
    assert.equal(await importAnimals([file, "--data", data], terminal), 0);
    const { stdout, stderr } = terminal.output();
    assert.equal(stdout, "imported 2000 animals\n");
    assert.match(stderr, isWatched ? /^(importing .*animals\.jsonl: \d+ %\n){2,}$/ : /^$/);
  }
});

test("import - validates all of standard input before it adds the animals, and leaves no file behind", async (context) => {
  const [folder, cwd] = [temporaryFolder(context), temporaryFolder(context)];
  mkdirSync(join(cwd, "-")); // A folder of this name is not meant.
  const good = '{"name":"Rex","categoryId":1}\n'.repeat(5_000); // More than a pipe holds.
  const importing = (input: string): SpawnSyncReturns<string> => {
    const args = [programPath, "import", "-", "--data", join(folder, "data")];
    return spawnSync(process.execPath, args, { cwd, input, encoding: "utf8", env: { ...process.env, TMPDIR: folder } });
  };
  const refused = importing(`${good}{"name":""}\n`);
  assert.deepEqual([refused.status, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^standard input line 5001: .*\nCannot import standard input: 1 of 5001 lines is not valid; .*\n$/);
  assert.deepEqual(readdirSync(folder), []);
  const taken = importing(good);
  assert.deepEqual([taken.status, taken.stdout, taken.stderr], [0, "imported 5000 animals\n", ""]);
  assert.deepEqual(readdirSync(folder), ["data"]);
  assert.match((await runHere(["check", "--data", join(folder, "data")])).stdout, /has 5000 animals,/);
});

test("import skips blank lines, and counts them in the line numbers of its messages", async (context) => {
  const good = '{"name":"Rex","categoryId":1}';
  const taken = folderWith(context, ["", good, " \t\r", good, "", ""]);
  assert.equal((await runHere(["import", taken.file, "--data", taken.data])).stdout, "imported 2 animals\n");
  const refused = folderWith(context, ["", good, "", "{}"]);
  assert.match((await runHere(["import", refused.file, "--data", refused.data])).stderr, /animals\.jsonl line 4: /);
});

const inputs: Readonly<Record<string, string>> = {
  "<(…)": "cat FILE | PROGRAM /dev/fd/3 3<&0",
  "/dev/stdin": "cat FILE | PROGRAM /dev/stdin",
  "/dev/stdin that is a file": "PROGRAM /dev/stdin < FILE",
  "a named pipe": "mkfifo FILE.pipe; cat FILE > FILE.pipe & PROGRAM FILE.pipe",
  "-, with no folder for temporary files": "cat FILE | TMPDIR=FILE.no PROGRAM -",
};

for (const [what, command] of Object.entries(inputs)) {
  test(`import takes ${what}, and leaves nothing but the catalogue`, async (context) => {
    const { data, file } = folderWith(context, ['{"name":"Rex","categoryId":1}', '{"name":"Tom","categoryId":2}']);
    const program = `"${process.execPath}" "${programPath}" import --data "${data}"`;
    const shell = command.replaceAll("PROGRAM", program).replaceAll("FILE", file);
    const { status, stdout, stderr } = spawnSync("sh", ["-c", shell], { encoding: "utf8" });
    assert.deepEqual([status, stdout, stderr], [0, "imported 2 animals\n", ""]);
    assert.deepEqual(readdirSync(data), ["pets.jsonl"]);
  });
}

test("import takes no folder as standard input", (context) => {
  const { data } = folderWith(context, []);
  const { status, stderr } = spawnSync("sh", ["-c", `"${process.execPath}" "${programPath}" import - --data "${data}" < /`], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [2, "Cannot import standard input: it is a folder\n"]);
});

test("import beside a running server adds the animals through it, which goes on serving", async (context) => {
  const lines = Array.from({ length: 1_200 }, (_, index) => `{"name":"Żółw ${index} \u{1F422}","categoryId":-922337203685477580${index % 9}}`);
  const { data, file } = folderWith(context, lines);
  const key = await createKey(["--data", data]);
  const server = await start(context, ["--data", data]);
  const client = newClient(server, key);
  const imported = await runHere(["import", file, "--data", data]);
  assert.deepEqual(imported, { code: 0, stdout: "imported 1200 animals\n", stderr: "" });
  const kept = await client.animalsAfter(0);
  assert.deepEqual(kept.map((text, index) => text.startsWith(`{"id":${index + 1},${(lines[index] ?? "").slice(1, -1)},`)), kept.map(() => true));
  assert.equal(kept.length, lines.length);
  client.close();
  assert.equal(await server.stop(), 0);
});

test("import adds only the lines that were validated, if the file grows meanwhile", async (context) => {
  const { data, file } = folderWith(context, ['{"name":"Rex","categoryId":1}', ""]);
  // The folder is locked after the first pass and before the second.
  context.mock.method(nodeDisk, "lock", async (path: string) => {
    appendFileSync(file, '{"name":"Tom","categoryId":2}\n{"name":"');
    return lock(path);
  });
  const imported = await runHere(["import", file, "--data", data]);
  assert.deepEqual([imported.code, imported.stdout, imported.stderr], [0, "imported 1 animal\n", ""]);
  assert.equal(readFileSync(join(data, "pets.jsonl"), "utf8").split("\n").length, 2);
});

for (const [change, count] of [["shortened", 1], ["rewritten with more animals", 1_000]] as const) {
  test(`import fails if the file is ${change} meanwhile, and says how many animals were added`, async (context) => {
    const longLine = `{"name":"Rex","categoryId":1${" ".repeat(16_000)}}`;
    const { data, file } = folderWith(context, [longLine, longLine]);
    context.mock.method(nodeDisk, "lock", async (path: string) => {
      writeFileSync(file, '{"name":"Rex","categoryId":1}\n'.repeat(count));
      return lock(path);
    });
    const imported = await runHere(["import", file, "--data", data]);
    assert.equal(imported.code, 1);
    assert.match(imported.stderr, /^Cannot import all of .*: the file changed while it was read; added the first 0 of 2 animals, no others\n$/);
    assert.equal(readFileSync(join(data, "pets.jsonl"), "utf8"), "");
  });
}

test("import refuses a device, which may have no end", async (context) => {
  const { code, stderr } = await runHere(["import", "/dev/zero", "--data", temporaryFolder(context)]);
  assert.equal(code, 1);
  assert.match(stderr, /\/dev\/zero is a named pipe or a device, not a file\n$/);
});

test("import of no file or of two is wrong usage, and adds nothing", async (context) => {
  const { data, file } = folderWith(context, ['{"name":"Rex","categoryId":1}']);
  for (const files of [[], [file, file]]) {
    const { code, stdout, stderr } = await runHere(["import", ...files, "--data", data]);
    assert.deepEqual([code, stdout, stderr], [2, "", "Cannot import: name one JSON-lines file, or - for standard input\n"]);
  }
  assert.equal(existsSync(data), false);
});
