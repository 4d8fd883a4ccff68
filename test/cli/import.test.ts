/**
 * `import`: the whole file is validated as the API does before the first animal is added (contract, section 1).
 */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { run, start } from "../support/program.ts";

function folderWith(context: TestContext, lines: readonly string[]): { data: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), "animal-store-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "animals.jsonl");
  writeFileSync(file, lines.join("\n"));
  return { data: join(folder, "data"), file };
}

test("import names the first twenty bad lines, and adds nothing", async (context) => {
  const good = '{"name":"Rex","categoryId":1}';
  const lines = [good, ...Array<string>(25).fill('{"name":"","categoryId":1.5,"id":3}'), good];
  const { data, file } = folderWith(context, lines);
  const imported = await run(["import", file, "--data", data]);
  assert.equal(imported.code, 1);
  assert.equal(imported.stdout, "");
  const named = imported.stderr.trimEnd().split("\n");
  assert.equal(named.length, 21);
  named.slice(0, 20).forEach((line, index) => assert.match(line, new RegExp(`line ${index + 2}: .*name.*categoryId.*id`)));
  assert.match(named[20] ?? "", /nothing imported: 25 of 27 lines are not valid, 5 more/);
  assert.match((await run(["check", "--data", data])).stdout, /not there/);
});

test("import says how far it has come, and every animal is in the log in order", async (context) => {
  const lines = Array.from({ length: 25_000 }, (_, index) => `{"name":"Animal ${index}","categoryId":${index}}`);
  const { data, file } = folderWith(context, lines);
  const imported = await run(["import", file, "--data", data]);
  assert.deepEqual([imported.code, imported.stdout], [0, "imported 25000 animals\n"]);
  assert.match(imported.stderr, /added 10000 of 25000\nadded 20000 of 25000\n/);
  const kept = readFileSync(join(data, "pets.jsonl"), "utf8").trimEnd().split("\n");
  assert.equal(kept.length, lines.length);
  kept.forEach((line, index) => {
    assert.ok(line.startsWith(`{"id":${index + 1},"name":"Animal ${index}","categoryId":${index},"status":"available"`));
  });
});

test("import is refused while a server holds the folder, and where there is no file", async (context) => {
  const { data, file } = folderWith(context, ['{"name":"Rex","categoryId":1}']);
  const program = await start(["--data", data]);
  const imported = await run(["import", file, "--data", data]);
  assert.equal(imported.code, 1);
  assert.match(imported.stderr, /^another server holds the folder .*\n$/);
  assert.equal(await program.stop(), 0);
  assert.match((await run(["import", `${file}.no`, "--data", data])).stderr, /there is no such file/);
});
