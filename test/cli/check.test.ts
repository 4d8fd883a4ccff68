/**
 * `check` on real folders: what a simulated disk (test/fault/check.test.ts) does not show.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";

import { check } from "../../src/cli/check.ts";
import { run } from "../../src/cli/run.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { checkOptions } from "../../src/options.ts";
import { openService } from "../../src/service.ts";
import { start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { recordingTerminal, runHere } from "../support/terminal.ts";

let original = "";

before(async () => {
  original = mkdtempSync(join(tmpdir(), "animal-store-"));
  const data = join(original, "data");
  const animals = join(original, "animals.jsonl");
  writeFileSync(animals, '{"name":"Rex","categoryId":1}\n{"name":"Tom","categoryId":2}\n');
  // The second import begins another group, which proves that the first was synced.
  for (const args of [["import", animals], ["import", animals], ["keys", "create"], ["keys", "create"]]) {
    assert.equal((await runHere([...args, "--data", data])).code, 0);
  }
});

after(() => rmSync(original, { recursive: true, force: true }));

/** A folder of the test's own with four animals and two keys. */
function filledFolder(context: TestContext): string {
  const data = join(temporaryFolder(context), "data");
  cpSync(join(original, "data"), data, { recursive: true });
  return data;
}

/** How a start with the folder ends, and what it says. One that succeeds is stopped, so that the test fails. */
async function startRefused(data: string): Promise<string> {
  const terminal = recordingTerminal();
  const code = await run(["--port", "0", "--data", data], terminal, () => AbortSignal.timeout(10_000));
  return `ended with ${code}: ${terminal.output().stderr}`;
}

/** The names in a folder, and everything about its files but when they were last read. */
function stateOf(folder: string): readonly string[] {
  const names = readdirSync(folder).sort();
  return names.map((name) => {
    const { ino, mode, size, mtimeNs, ctimeNs } = statSync(join(folder, name), { bigint: true });
    const content = name.endsWith("jsonl") ? readFileSync(join(folder, name), "latin1") : "";
    return [name, ino, mode, size, mtimeNs, ctimeNs, content].join(" ");
  });
}

test("a start with a damaged file says where the damage is, and that check --help has advice", async (context) => {
  for (const [name, sound, damaged] of [["pets.jsonl", "Rex", "Max"], ["keys.jsonl", "made", "mode"]] as const) {
    const data = filledFolder(context);
    writeFileSync(join(data, name), readFileSync(join(data, name), "utf8").replace(sound, damaged));
    const refusal = /^ended with 1: Cannot .*s\.jsonl is damaged at line 1, byte 0: .*; see check --help\n$/;
    assert.match(await startRefused(data), refusal, name);
  }
});

test("check and start refuse the same flags and variables", async (context) => {
  const data = filledFolder(context);
  for (const [flags, environment, setting] of [
    [["--port", "abc"], {}, "--port abc"],
    [[], { ANIMAL_STORE_LOG: "loud" }, "ANIMAL_STORE_LOG=loud"],
    [["--base-url", "https://example.com"], {}, "--base-url https://example.com"],
  ] as const) {
    for (const command of [["check"], []]) {
      const refused = await runHere([...command, "--data", data, ...flags], environment);
      assert.deepEqual([refused.code, refused.stdout], [2, ""]);
      assert.ok(refused.stderr.startsWith(`Cannot use ${setting}: must be `), refused.stderr);
    }
  }
  assert.equal((await runHere(["check", "--data", data, "--port", "0", "--log", "off"])).code, 0);
});

test("check beside a server changes nothing, and does not report writes under way as damage", async (context) => {
  const data = filledFolder(context);
  const program = await start(context, ["--data", data]);
  appendFileSync(join(data, "pets.jsonl"), '{"id":5,"na');
  appendFileSync(join(data, "keys.jsonl"), '{"event":"ma');
  const stateBefore = stateOf(data);
  const checked = await runHere(["check", "--data", data]);
  assert.deepEqual(stateOf(data), stateBefore);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /4 animals; a write is under way .*\n.*2 keys; .*\nthe server would start; a server holds the folder now\n$/);
  assert.equal(await program.stop(), 0);
});

test("check says that the server would not start with a folder it cannot write to", async (context) => {
  const data = filledFolder(context);
  const refused = (): Promise<never> => Promise.reject(new Error("EROFS: read-only file system"));
  const pets = { ...nodeDisk, openToAppend: refused };
  const folder = { ...nodeDisk, lock: refused };
  for (const disk of [pets, folder]) {
    const terminal = recordingTerminal();
    assert.equal(await check(["--data", data], terminal, disk), 1);
    assert.match(terminal.output().stdout, /^EROFS.*\nthe server would not start\n$/m);
  }
});

for (const folder of ["/proc/nothing", "/dev/null/data"]) {
  test(`check says that the server would not start with ${folder}, and start says the same`, async () => {
    const checked = await runHere(["check", "--data", folder]);
    assert.equal(checked.code, 1);
    assert.match(checked.stdout, /(ENOENT|EACCES|EPERM|ENOTDIR).*\n.*the server would not start\n$/);
    assert.match(await startRefused(folder), /ended with 2: Cannot use --data/);
  });
}

test("check and start name limits.json if it is a folder", async (context) => {
  const data = filledFolder(context);
  mkdirSync(join(data, "limits.json"));
  const checked = await runHere(["check", "--data", data]);
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /limits\.json.*EISDIR.*\nthe server would not start\n$/);
  assert.match(await startRefused(data), /ended with 2: Cannot use --data .*limits\.json.*EISDIR/);
});

test("check and start refuse a folder whose server.lock is a file, and leave it", async (context) => {
  const data = filledFolder(context);
  writeFileSync(join(data, "server.lock"), "");
  const checked = await runHere(["check", "--data", data]);
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /^Cannot lock .*server\.lock: it is not a socket\n[^]*the server would not start\n$/);
  assert.match(await startRefused(data), /ended with 2: Cannot use --data .*server\.lock: it is not a socket/);
  assert.ok(existsSync(join(data, "server.lock")));
});

test("check says of a link to nothing what a start does: the data folder, the files in it, where they may be made and not", async (context) => {
  for (const name of ["", "pets.jsonl", "keys.jsonl", "limits.json"]) {
    for (const place of ["there", "nowhere"]) {
      const folder = temporaryFolder(context);
      const data = join(folder, "data");
      mkdirSync(join(folder, "there"));
      if (name !== "") {
        mkdirSync(data);
      }
      symlinkSync(join(folder, place, "target"), join(data, name).replace(/\/$/, ""));
      const checked = await runHere(["check", "--data", data]);
      const options = checkOptions({ dataDir: data, report: () => undefined });
      const service = await openService(options).catch(() => undefined);
      const isStarted = await service?.keys.createFirst({ label: "first key" }).then(() => true, () => false) ?? false;
      await service?.close();
      assert.equal(checked.code === 0, isStarted, `${name} ${place}: ${checked.stdout}`);
    }
  }
});

test("check mentions a damaged limits.json, and leaves it", async (context) => {
  const data = filledFolder(context);
  writeFileSync(join(data, "limits.json"), "{}\n");
  const stateBefore = stateOf(data);
  const checked = await runHere(["check", "--data", data]);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /limits\.json is damaged; the server would move it away, .*\nthe server would start\n$/);
  assert.deepEqual(stateOf(data), stateBefore);
});

test("check, import and keys refuse an empty --data, and make nothing", async (context) => {
  const before = readdirSync(".");
  const file = join(temporaryFolder(context), "animals.jsonl");
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n');
  for (const args of [["check"], ["import", file], ["keys", "list"], ["keys", "create"], []]) {
    const refused = await runHere([...args, "--data", ""]);
    assert.deepEqual([refused.code, refused.stdout], [2, ""], args.join(" "));
    assert.match(refused.stderr, /^Cannot use --data : must not be empty.*\n$/);
  }
  assert.deepEqual(readdirSync("."), before);
});

test("check says that a start without keys fails on a full disk, as it does in one line before it listens", {
  skip: process.getuid?.() === 0 ? false : "needs root, to mount a small disk",
}, async (context) => {
  const data = temporaryFolder(context);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", data]).status !== 0) {
    context.skip("needs mount -t tmpfs, which does not work here");
    return;
  }
  try {
    assert.throws(() => writeFileSync(join(data, "fill"), Buffer.alloc(200_000)), { code: "ENOSPC" });
    const before = readdirSync(data);
    const { code, stdout } = await runHere(["check", "--data", data]);
    assert.equal(code, 1);
    assert.match(stdout, /^Cannot write the first key: no space is left on the disk of \/\S+$/m);
    assert.deepEqual(readdirSync(data), before, "nothing is left behind");
    const listen = context.mock.method(Server.prototype, "listen");
    const terminal = recordingTerminal();
    assert.equal(await run(["--port", "0", "--data", data], terminal, () => new AbortController().signal), 2);
    assert.equal(listen.mock.callCount(), 0);
    assert.match(terminal.output().stderr, /^Cannot use --data .*: Cannot write the first key: no space is left on the disk of \/\S+\n$/);
  } finally {
    spawnSync("umount", [data]);
  }
});

for (const name of ["keys.jsonl", "limits.json", "pets.jsonl"]) {
  test(`check and a start refuse a ${name} that is a named pipe, and do not wait for it`, async (context) => {
    const data = filledFolder(context);
    rmSync(join(data, name), { force: true });
    assert.equal(spawnSync("mkfifo", [join(data, name)]).status, 0);
    const { code, stdout, stderr } = await runHere(["check", "--data", data]);
    assert.equal(code, 1);
    assert.match(stdout + stderr, /is a named pipe/);
    assert.match(await startRefused(data), /is a named pipe/);
  });
}
