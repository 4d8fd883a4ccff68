/**
 * `check` as an operator runs it: it tells what it finds and leaves a folder, damaged or not, exactly as it was.
 */

import assert from "node:assert/strict";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";

import { run, start } from "../support/program.ts";

let original = "";

before(async () => {
  original = mkdtempSync(join(tmpdir(), "animal-store-"));
  const data = join(original, "data");
  const animals = join(original, "animals.jsonl");
  writeFileSync(animals, '{"name":"Rex","categoryId":1}\n{"name":"Tom","categoryId":2}\n');
  // The second import begins a group of its own, which vouches for the first.
  for (const args of [["import", animals], ["import", animals], ["keys", "create"], ["keys", "create"]]) {
    assert.equal((await run([...args, "--data", data])).code, 0);
  }
});

after(() => rmSync(original, { recursive: true, force: true }));

/** A folder of the test's own with four animals and two keys. */
function filledFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "animal-store-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, "data");
  cpSync(join(original, "data"), data, { recursive: true });
  return data;
}

/** Everything there is to know of a folder, but when it was last read. */
function stateOf(folder: string): readonly string[] {
  const names = [".", ...readdirSync(folder).sort()];
  return names.map((name) => {
    const { ino, mode, size, mtimeNs, ctimeNs } = statSync(join(folder, name), { bigint: true });
    const content = name.endsWith("jsonl") ? readFileSync(join(folder, name), "latin1") : "";
    return [name, ino, mode, size, mtimeNs, ctimeNs, content].join(" ");
  });
}

function cut(path: string, byteCount: number): void {
  truncateSync(path, statSync(path).size - byteCount);
}

interface Damage {
  readonly damage: (pets: string, keys: string) => void;
  readonly code: number;
  readonly told: RegExp;
}

const damages: Readonly<Record<string, Damage>> = {
  "nothing": { damage: () => undefined, code: 0, told: /4 animals\n.*2 keys\na start would serve\n$/ },
  "a torn catalogue": {
    damage: (pets) => cut(pets, 9),
    code: 0,
    told: /3 animals; the last \d+ bytes of .*pets\.jsonl are an unfinished write .*\n.*2 keys\na start would serve\n$/,
  },
  "a torn key file": {
    damage: (_, keys) => cut(keys, 9),
    code: 0,
    told: /4 animals\n.*1 keys; .*keys\.jsonl ends in \d+ bytes .*\na start would serve\n$/,
  },
  "a damaged catalogue": {
    damage: (pets) => writeFileSync(pets, readFileSync(pets, "utf8").replace("Rex", "Max")),
    code: 1,
    told: /pets\.jsonl is damaged at line 1, byte 0: .*\n.*2 keys\na start would refuse\n$/,
  },
  "a damaged key file": {
    damage: (_, keys) => writeFileSync(keys, readFileSync(keys, "utf8").replace("made", "mode")),
    code: 1,
    told: /4 animals\n.*keys\.jsonl is damaged at line 1, byte 0: .*\na start would refuse\n$/,
  },
};

for (const [name, { damage, code, told }] of Object.entries(damages)) {
  test(`check of a folder with ${name} tells it, exits ${code} and changes nothing`, async (context) => {
    const data = filledFolder(context);
    damage(join(data, "pets.jsonl"), join(data, "keys.jsonl"));
    const stateBefore = stateOf(data);
    const checked = await run(["check", "--data", data]);
    assert.deepEqual(stateOf(data), stateBefore);
    assert.match(checked.stdout, told);
    assert.deepEqual([checked.code, checked.stderr], [code, ""]);
  });
}

test("check beside a server changes nothing, and takes what is unfinished for writes under way", async (context) => {
  const data = filledFolder(context);
  const program = await start(["--data", data]);
  appendFileSync(join(data, "pets.jsonl"), '{"id":5,"na');
  appendFileSync(join(data, "keys.jsonl"), '{"event":"ma');
  const stateBefore = stateOf(data);
  const checked = await run(["check", "--data", data]);
  assert.deepEqual(stateOf(data), stateBefore);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /4 animals; a write is under way .*\n.*2 keys; .*\na start would serve; a server holds the folder now\n$/);
  assert.equal(await program.stop(), 0);
});

test("check of a folder that is not there does not make it", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "animal-store-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const data = join(folder, "data");
  assert.equal((await run(["check", "--data", data])).code, 0);
  assert.equal(existsSync(data), false);
});
