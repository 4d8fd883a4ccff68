/**
 * Goal: whichever process dies or stops while commands change keys and import animals through a running server, every
 * change that a command confirmed is there, and nothing has to be cleaned up by hand. Method: the real server and real
 * commands, one of which gets SIGKILL or SIGSTOP at a random moment. The environment variable CRASH_ROUNDS sets the
 * number of rounds.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { newClient } from "../support/client.ts";
import { passTime } from "../support/mock-timers.ts";
import { createKey, programPath, type Ran, run, start } from "../support/program.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const rounds = Math.min(Number(process.env["CRASH_ROUNDS"] ?? 2), 60);
const animalCount = Number(process.env["CRASH_ROUNDS"] ?? 0) >= 12 ? 20_000 : 2_000;

async function statusOf(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/pets`, { headers: { Authorization: `Bearer ${key}`, Connection: "close" } })).status;
}

/** A command that gets SIGKILL after so long, if it has not ended. */
function runUntil(args: readonly string[], killMs: number | undefined): Promise<Ran> {
  return run(args, killMs === undefined ? {} : { wrapper: ["timeout", "-s", "KILL", String(killMs / 1_000)] });
}

/** Keys by id, and what became of them as far as commands have said. */
class Keys {
  readonly made = new Map<string, string>();
  readonly revoked = new Set<string>();
  /** Their revocation was tried. */
  readonly doubtful = new Set<string>();
  readonly #at: readonly string[];

  constructor(at: readonly string[]) {
    this.#at = at;
  }

  async create(killMs: number | undefined): Promise<void> {
    const { code, stdout, stderr } = await runUntil(["keys", "create", "--plan", "pro", ...this.#at], killMs);
    if (code === 0) {
      this.made.set(/made (key_\w{15})/.exec(stderr)?.[1] ?? "", stdout.trim());
    }
  }

  async revoke(random: SeededRandom, killMs: number | undefined): Promise<void> {
    const ids = [...this.made.keys()].filter((id) => !this.doubtful.has(id));
    if (ids.length > 0) {
      const id = random.pick(ids);
      this.doubtful.add(id);
      if ((await runUntil(["keys", "revoke", id, ...this.#at], killMs)).code === 0) {
        this.revoked.add(id);
      }
    }
  }
}

test("after kill -9 of commands and the server every confirmed change of a key holds, and nothing is in the way", seeded(async (random, context) => {
  const folder = temporaryFolder(context);
  const at = ["--data", folder];
  const keys = new Keys(at);
  await keys.create(undefined);
  for (let round = 0; round < rounds; round++) {
    const server = await start(context, at);
    const isServerKilled = round % 2 === 1;
    const killMs = (): number | undefined => (isServerKilled ? undefined : random.integer(30, 400));
    const changing = [keys.create(undefined), keys.create(killMs()), keys.revoke(random, undefined), keys.revoke(random, killMs())];
    if (isServerKilled) {
      await delay(random.integer(0, 400));
      await server.stop("SIGKILL");
    }
    await Promise.all(changing);
    await server.stop();
  }
  const server = await start(context, at);
  for (const [id, key] of keys.made) {
    if (!keys.doubtful.has(id) || keys.revoked.has(id)) {
      assert.equal(await statusOf(server.url, key), keys.revoked.has(id) ? 401 : 200);
    }
  }
  assert.ok(keys.made.size > rounds / 2 && keys.revoked.size > 0);
  assert.equal(await server.stop(), 0);
}));

test("a stopped server: an import gives up after 10 s, and nothing is imported later", async (context) => {
  const at = ["--data", temporaryFolder(context)];
  const key = await createKey(at);
  const file = join(temporaryFolder(context), "animals.jsonl");
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n');
  const server = await start(context, at);
  server.process.kill("SIGSTOP");
  const { code, stdout, stderr } = await passTime(context, () => runHere(["import", file, ...at]));
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^Cannot import \S+: [^\n]*does not answer; nothing was imported\n$/);
  server.process.kill("SIGCONT");
  const listed = await fetch(`${server.url}/pets`, { headers: { Authorization: `Bearer ${key}`, Connection: "close" } });
  assert.equal(await listed.text(), "[]");
  assert.equal(await server.stop(), 0);
});

test("an import goes on when the service restarts in it: every animal is there once, in its order", async (context) => {
  const at = ["--data", temporaryFolder(context)];
  const key = await createKey(at);
  const file = join(temporaryFolder(context), "animals.jsonl");
  writeFileSync(file, Array.from({ length: 30_000 }, (_, index) => `{"name":"import ${index}","categoryId":1}\n`).join(""));
  const server = await start(context, at);
  const importing = run(["import", file, ...at]);
  const pets = join(at[1] ?? "", "pets.jsonl");
  await until("some are there", () => statSync(pets).size > 100_000);
  assert.equal(await server.stop(), 0);
  assert.ok(readFileSync(pets, "utf8").split("\n").length < 30_000, "not all of them yet");
  const again = await start(context, at);
  assert.deepEqual(await importing, { code: 0, stdout: "imported 30000 animals\n", stderr: "" });
  const reader = newClient(again, key);
  const names = (await reader.animalsAfter(0)).map((text) => (JSON.parse(text) as { name: string }).name);
  assert.deepEqual(names, names.map((_, index) => `import ${index}`));
  assert.equal(names.length, 30_000);
  reader.close();
  assert.equal(await again.stop(), 0);
});

test("an import that a signal ends says truly how many were added, and how to go on", async (context) => {
  const data = join(temporaryFolder(context), "the shop's");
  const file = join(temporaryFolder(context), "all animals.jsonl");
  writeFileSync(file, Array.from({ length: 60_000 }, (_, index) => `\n{"name":"import ${index}","categoryId":1}`).join(""));
  const importing = spawn(process.execPath, [programPath, "import", file, "--data", data]);
  let stderr = "";
  importing.stderr.on("data", (text: Buffer) => (stderr += String(text)));
  const ended = once(importing, "close");
  await until("some are there", () => existsSync(join(data, "pets.jsonl")) && statSync(join(data, "pets.jsonl")).size > 100_000);
  importing.kill("SIGHUP");
  assert.deepEqual(await ended, [1, null]);
  const [, count, line, command = ""] =
    /: a signal has ended it; added the first (\d+) of 60000 animals, up to line (\d+), no others; to go on: (.*)\n$/.exec(stderr) ?? [];
  assert.equal(Number(line), Number(count) + 1);
  const kept = (): string[] => readFileSync(join(data, "pets.jsonl"), "utf8").trimEnd().split("\n");
  assert.equal(kept().length, Number(count));
  const shell = command.replace("| animal-store", `| ${process.execPath} ${programPath}`); // Else as printed.
  assert.equal(spawnSync("sh", ["-c", shell], { cwd: temporaryFolder(context) }).status, 0);
  const names = kept().map((text) => (JSON.parse(text) as { name: string }).name);
  assert.deepEqual(names, Array.from({ length: 60_000 }, (_, index) => `import ${index}`));
});

test("an import beside a server under load that is killed anywhere leaves an intact prefix, and says how many", seeded(async (random, context) => {
  const folder = temporaryFolder(context);
  const at = ["--data", join(folder, "data")];
  const key = await createKey(at);
  const file = join(folder, "animals.jsonl");
  writeFileSync(file, Array.from({ length: animalCount }, (_, index) => `{"name":"import ${index}","categoryId":1}\n`).join(""));
  let before = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await start(context, at);
    const client = newClient(server, key);
    let isOver = false;
    const adding = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        await client.add({ name: "other", categoryId: 2 }).then(({ status }) => assert.equal(status, 201), () => (isOver = true));
      }
    });
    const pets = join(folder, "data/pets.jsonl");
    const sizeBefore = statSync(pets).size;
    const isServerKilled = random.oneIn(2);
    const importing = runUntil(["import", file, ...at], isServerKilled ? undefined : random.integer(150, 700));
    if (isServerKilled) {
      await until("the import has begun", () => readFileSync(pets).lastIndexOf('"import 0"') > sizeBefore);
      await delay(random.integer(0, 500));
      await server.stop("SIGKILL");
    } else {
      await importing;
    }
    isOver = true;
    await Promise.all(adding);
    client.close();
    await server.stop();
    const again = await start(context, at);
    const { stdout, stderr } = await importing; // Goes on with this one, unless it has ended or a batch is in doubt.
    const reader = newClient(again, key);
    const names = (await reader.animalsAfter(before)).map((text) => (JSON.parse(text) as { name: string }).name);
    before += names.length;
    const imported = names.filter((name) => name.startsWith("import "));
    assert.deepEqual(imported, imported.map((_, index) => `import ${index}`));
    const said = /imported (\d+) animals|added the first (\d+) of/.exec(stdout + stderr);
    const saidCount = Number(said?.[1] ?? said?.[2] ?? 0);
    const doubtful = /lines (\d+) to (\d+) may have been added too/.exec(stderr);
    const saidMax = isServerKilled ? Number(doubtful?.[2] ?? saidCount) : animalCount;
    assert.ok(imported.length >= saidCount && imported.length <= saidMax, `${imported.length} were added: ${stdout}${stderr}`);
    reader.close();
    assert.equal(await again.stop(), 0);
  }
}));
