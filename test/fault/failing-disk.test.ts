/**
 * The service on real disks that fail: a tmpfs that is full and gets free space again, a limit of file sizes, calls that
 * strace makes fail. On a machine that cannot produce such a fault its test is skipped, and says why.
 *
 * All faults of a folder, with what follows, and the files that test them, of this folder unless they name another:
 *
 *     kill -9, loss of power                   every confirmed animal and change is there      kill, history
 *     full disk, failed write                  503 until there is space, reads work            failing-disk
 *     a write that cannot be undone            503 `outcome_unknown`, a part may be there      failing-disk
 *     failed fdatasync                         503 until a restart, first `outcome_unknown`    failing-disk
 *     frozen file system, hung write           no response until it goes on, reads work        frozen, failing-disk
 *     torn tail                                moved to `pets.jsonl.torn`, or no start         damage
 *     corruption                               no start, the file is unchanged                 damage, damage-salvage
 *     moved, doubled or unreadable lines       no start, a salvage takes or refuses them       damage-salvage
 *     another process wrote to pets.jsonl      503 until a restart, every line is checked      failing-disk
 *     another process wrote to keys.jsonl      known keys work, and none can be changed        keys/, folder/
 *     a last group that cannot be rewritten    no start, the file is unchanged                 failing-disk
 *     crash while a key is changed             every confirmed change is there                 key-history, control-socket
 *     a command or its server dies or stops    the command gives up, its change may be there   control-socket
 *     crash of an export or a salvage          no start of that folder until it is run again   export
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { type Client, newClient, type Received } from "../support/client.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { createKey, type RunningProgram, run, start as startProgram } from "../support/program.ts";
import { type RunningService, runningService } from "../support/running-service.ts";

let folder = "";
let dataDir = "";
let key = "";
let server: RunningProgram | undefined;
let client: Client | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "animal-store-"));
  dataDir = join(folder, "data");
});

async function kill(): Promise<void> {
  client?.close();
  await server?.stop("SIGKILL");
}

afterEach(async () => {
  await kill();
  server = undefined;
  key = "";
  rmSync(folder, { recursive: true });
});

/** Starts the server, in place of the one that it kills. */
async function start(wrapper: readonly string[] = []): Promise<Client> {
  await kill();
  key ||= await createKey(["--data", dataDir]);
  // One thread writes, so that strace can count its calls.
  const env = { UV_THREADPOOL_SIZE: "1", UV_USE_IO_URING: "0" };
  server = await startProgram(undefined, ["--data", dataDir], { wrapper, env });
  client = newClient(server, key);
  return client;
}

function add(to: Client, name: string): Promise<Received> {
  return to.add({ name, categoryId: 1 });
}

function reserve(to: Client, id = 1): Promise<Received> {
  return to.change(id, "pending", { "if-match": "available" });
}

async function statusOf(from: Client): Promise<string> {
  return (JSON.parse((await from.get("/v1/pets/1")).text) as { status: string }).status; // The server's own response.
}

function codeOf({ status, text }: Received): string {
  return status === 503 ? (JSON.parse(text) as { code: string }).code : String(status); // The server's own response.
}

/** Each line whole, the ids of animals 1, 2, 3, …; returns their names. */
function namesInLog(): string[] {
  const text = readFileSync(join(dataDir, "pets.jsonl"), "utf8");
  assert.ok(text === "" || text.endsWith("\n"), "no half line stays");
  return text.split("\n").filter((line) => line.includes('"name"')).map((line, index) => {
    const { id, name } = JSON.parse(line) as { id: number; name: string }; // Lines of our own log.
    assert.equal(id, index + 1, "ids have no gap and no repeat");
    return name;
  });
}

function lacks(command: string, ...args: readonly string[]): string | false {
  return spawnSync(command, args).status === 0 ? false : `needs ${command} ${args.join(" ")}, which does not work here`;
}

const noStrace = lacks("strace", "-f", "-q", "--seccomp-bpf", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=1", "true");

/** Something happens at this call of the one thread that writes. No other call is stopped, which would take time. */
function injecting(call: string, what: string, when: string): string[] {
  const only = ["--seccomp-bpf", "-P", join(dataDir, "pets.jsonl")];
  return ["strace", "-f", "-q", "-o", "/dev/null", ...only, "-e", `trace=${call}`, "-e", `inject=${call}:${what}:when=${when}`];
}

function failing(call: string, error: string, when: string): string[] {
  return injecting(call, `error=${error}`, when);
}

/** No file may grow beyond so many blocks: a write that would is short, and the next one fails. */
function withFileLimit(blocks: number): string[] {
  return ["sh", "-c", `ulimit -f ${blocks}; exec "$@"`, "sh"];
}

test("a failed fdatasync is outcome_unknown, nothing is written from then on, and a restart serves", { skip: noStrace },
  async () => {
    // The first sync is the start's.
    const failed = await start(failing("fdatasync", "EIO", "3"));
    assert.equal(codeOf(await add(failed, "kept")), "201");
    assert.equal(codeOf(await add(failed, "unknown")), "outcome_unknown");
    assert.equal(codeOf(await add(failed, "refused")), "storage_unavailable");
    assert.equal((await failed.get("/healthz")).status, 503);
    assert.equal((await failed.animalsAfter(0)).length, 1, "reads go on, without what is unknown");
    assert.match(server?.output().stderr ?? "", /a sync of \S+pets\.jsonl failed .* until a restart/);
    const restarted = await start();
    const animals = await restarted.animalsAfter(0);
    assert.ok(animals[0]?.includes('"kept"') && !animals.join().includes("refused"));
    assert.equal(codeOf(await add(restarted, "later")), "201");
    assert.equal((await restarted.get("/healthz")).status, 200);
  },
);

test("a start that cannot write the last group again fails in one line, and the next one serves", { skip: noStrace }, async () => {
  assert.equal(codeOf(await add(await start(), "kept")), "201");
  await kill();
  const { code, stderr } = await run(["--data", dataDir, "--port", "0"], { wrapper: failing("pwrite64", "ENOSPC", "1") });
  assert.equal(code, 2);
  const told = /^Cannot use --data \S+: the end of \S+pets\.jsonl cannot be written again \(.*ENOSPC.*\); nothing is lost: .* start again\n$/;
  assert.match(stderr, told);
  assert.equal(codeOf(await add(await start(), "later")), "201");
  assert.deepEqual(namesInLog(), ["kept", "later"]);
});

test("a write that fails is storage_unavailable, and the next one works, of an animal and of a change", { skip: noStrace }, async () => {
  const failed = await start(failing("write", "EIO", "2..3"));
  assert.equal(codeOf(await add(failed, "first")), "201");
  assert.equal(codeOf(await add(failed, "refused")), "storage_unavailable");
  assert.equal(codeOf(await reserve(failed)), "storage_unavailable");
  assert.equal((await failed.get("/healthz")).status, 200);
  assert.equal((await failed.animalsAfter(0)).length, 1);
  assert.equal(await statusOf(failed), "available");
  assert.equal(codeOf(await add(failed, "second")), "201");
  assert.equal(codeOf(await reserve(failed)), "200");
  assert.deepEqual(namesInLog(), ["first", "second"]);
  assert.equal(await statusOf(await start()), "pending");
});

test("half a group that cannot be cut off is outcome_unknown, and the next write cuts it off first", { skip: noStrace },
  async () => {
    const failed = await start([...failing("ftruncate", "EIO", "1"), ...withFileLimit(8)]);
    const added: string[] = [];
    const long = "x".repeat(200);
    let code = "201";
    for (let count = 0; code === "201" && count < 60; count++) {
      const name = `${count} ${long}`;
      code = codeOf(await add(failed, name));
      added.push(...(code === "201" ? [name] : []));
    }
    assert.equal(code, "outcome_unknown");
    assert.doesNotMatch(readFileSync(join(dataDir, "pets.jsonl"), "utf8"), /\n$/, "half a line is there");
    assert.equal((await failed.get("/healthz")).status, 200);
    assert.equal((await failed.animalsAfter(0)).length, added.length, "reads go on, without what is unknown");
    assert.equal(codeOf(await add(failed, long)), "storage_unavailable", "this one cannot be written, and is cut off again");
    assert.equal(codeOf(await add(failed, "short")), "201");
    assert.deepEqual(namesInLog(), [...added, "short"]);
    const restarted = await start();
    assert.equal(codeOf(await add(restarted, "later")), "201");
    assert.deepEqual(namesInLog(), [...added, "short", "later"]);
    assert.equal(server?.output().stderr, "", "nothing had to be set aside");
  },
);

test("half a group that can never be cut off is outcome_unknown, and a restart keeps its whole lines at most", { skip: noStrace },
  async () => {
    const failed = await start([...failing("ftruncate", "EIO", "1+"), ...withFileLimit(8)]);
    const namesByCode = new Map<string, string[]>([["201", []], ["outcome_unknown", []], ["storage_unavailable", []]]);
    for (let count = 0; namesByCode.get("outcome_unknown")?.length === 0 && count < 60; count++) {
      await Promise.all(Array.from({ length: 8 }, async (_, index) => {
        const name = `${count} ${index}`;
        namesByCode.get(codeOf(await add(failed, name)))?.push(name);
      }));
    }
    const [added = [], unknown = [], refused = []] = namesByCode.values();
    assert.equal(codeOf(await add(failed, "refused")), "storage_unavailable");
    assert.ok(added.length > 8 && unknown.length > 0);
    assert.equal((await failed.animalsAfter(0)).length, added.length, "reads go on, without what is unknown");
    client?.close();
    await server?.stop("SIGKILL");
    const isTorn = !readFileSync(join(dataDir, "pets.jsonl"), "utf8").endsWith("\n");
    const restarted = await start();
    const reported = /^warning: the last (?:\d+ bytes|byte) .*; it was moved to .*pets\.jsonl\.torn, and the rest is served\n$/;
    assert.match(server?.output().stderr ?? "", isTorn ? reported : /^$/);
    assert.equal(codeOf(await add(restarted, "later")), "201");
    const names = namesInLog();
    assert.equal(names.length, new Set(names).size, "nothing is there twice");
    assert.deepEqual([...added].sort(), names.slice(0, added.length).sort(), "what was acknowledged is there, before all else");
    const others = names.slice(added.length, -1);
    assert.ok(others.every((name) => unknown.includes(name)), `${others.join()}; refused: ${refused.join()}`);
  },
);

test("a full disk refuses animals without a half line, and takes them when there is room again", {
  skip: process.getuid?.() === 0 ? false : "needs root, to mount a small disk",
}, async (context) => {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", folder]);
  if (mounted.status !== 0) {
    context.skip("needs mount -t tmpfs, which does not work here");
    return;
  }
  try {
    const full = await start();
    const added: string[] = [];
    let last = "201";
    for (let count = 0; last === "201" && count < 5_000; count++) {
      const names = Array.from({ length: 32 }, (_, index) => `${count} ${index} ${"x".repeat(100)}`);
      const codes = (await Promise.all(names.map((name) => add(full, name)))).map(codeOf);
      added.push(...names.filter((_, index) => codes[index] === "201"));
      last = codes.find((code) => code !== "201") ?? "201";
    }
    assert.equal(last, "storage_unavailable");
    assert.deepEqual(namesInLog().sort(), [...added].sort());
    assert.equal((await full.animalsAfter(0)).length, added.length, "reads go on");
    let changed = codeOf(await reserve(full));
    for (let id = 2; changed === "200"; id++) { // A change is short, so the last page may still have room for some.
      changed = codeOf(await reserve(full, id));
    }
    assert.equal(changed, "storage_unavailable");
    assert.equal(spawnSync("mount", ["-o", "remount,size=8m", folder]).status, 0);
    assert.equal(codeOf(await add(full, "healed")), "201");
    assert.deepEqual(namesInLog().sort(), [...added, "healed"].sort());
    await server?.stop("SIGTERM");
    assert.equal((await run(["check", "--data", dataDir])).code, 0);
  } finally {
    await server?.stop("SIGKILL");
    spawnSync("umount", [folder]);
  }
});

test("an import that a file size limit ends says how many animals were added, exits 1, and they are there", async () => {
  mkdirSync(dataDir);
  const file = join(folder, "animals.jsonl");
  const lines = Array.from({ length: 5_000 }, (_, index) => `{"name":"animal ${index}","categoryId":1}\n`);
  writeFileSync(file, lines.join(""));
  const { code, stdout, stderr } = await run(["import", file, "--data", dataDir], { wrapper: withFileLimit(600) });
  assert.deepEqual([code, stdout], [1, ""]);
  const reported = /^Cannot import all of .*; added the first (\d+) of 5000 animals, .*no others/m.exec(stderr);
  const names = namesInLog();
  assert.equal(Number(reported?.[1]), names.length, stderr);
  assert.ok(names.length > 0 && names.every((name, index) => name === `animal ${index}`));
  const rest = join(folder, "rest.jsonl");
  writeFileSync(rest, lines.slice(names.length).join(""));
  assert.equal((await run(["import", rest, "--data", dataDir])).code, 0);
  assert.deepEqual(namesInLog(), lines.map((_, index) => `animal ${index}`));
});

test("while a sync is slow, reads succeed, without the animal that waits for it", { skip: noStrace }, async () => {
  const slow = await start(injecting("fdatasync", "delay_enter=700000", "2"));
  let received: Received | undefined;
  const adding = add(slow, "Rex").then((response) => (received = response));
  // The kernel says that the animal is in the file, so all reads from here on come during its sync.
  while (readFileSync(join(dataDir, "pets.jsonl"), "utf8") === "") {
    await slow.get("/healthz");
  }
  for (let read = 0; read < 5; read++) {
    const list = await slow.get("/v1/pets");
    const pet = await slow.get("/v1/pets/1");
    assert.equal(received, undefined, `read ${read} succeeds while the animal waits`);
    assert.deepEqual([list.status, list.text, pet.status], [200, "[]", 404]);
  }
  assert.equal((await adding).status, 201);
  assert.equal((await slow.get("/v1/pets")).text, `[${received?.text}]`);
});

for (const [call, nth, title] of [
  ["write", "1", "a write"],
  ["statx", "3", "a look at the file before a write"],
  ["statx", "4", "a look at the file after a sync"],
] as const) {
  test(`while ${title} is slow, reads and /healthz succeed, and the create is answered after it`, { skip: noStrace }, async () => {
    const slow = await start(injecting(call, "delay_enter=1200000", nth));
    const startMs = performance.now();
    let answeredMs: number | undefined;
    const adding = add(slow, "Rex").finally(() => (answeredMs = performance.now() - startMs));
    let longestMs = 0;
    while (answeredMs === undefined) {
      const readMs = performance.now();
      for (const path of ["/v1/pets", "/healthz"]) {
        assert.equal((await slow.get(path)).status, 200);
      }
      longestMs = Math.max(longestMs, performance.now() - readMs);
      await delay(20); // Reads without a pause would only take processor time.
    }
    assert.equal((await adding).status, 201);
    assert.ok(answeredMs > 1_100, `the ${call} was slow: ${answeredMs} ms`);
    assert.ok(longestMs < 1_000, `two reads took ${longestMs} ms`);
  });
}

const rex = { name: "Rex", categoryId: 1 };

/** A service of this process with one animal. */
async function servedHere(context: TestContext): Promise<RunningService & { readonly path: string; readonly clock: ManualClock }> {
  const clock = new ManualClock();
  const running = await runningService(context, { options: { dataDir }, clock });
  await running.service.pets.add(rex);
  return { ...running, path: join(dataDir, "pets.jsonl"), clock };
}

for (const [title, change] of [
  ["appends to the log", (path: string) => appendFileSync(path, "hello\n")],
  ["replaces the log by rename", (path: string) => {
    copyFileSync(path, `${path}.restored`);
    renameSync(`${path}.restored`, path);
  }],
  ["removes the log", (path: string) => rmSync(path)],
  ["shortens the log in place", (path: string) => truncateSync(path, 10)],
] as const) {
  test(`if another process ${title}, no add is acknowledged that a restart would lose`, async (context) => {
    // The look after a group counts for 100 ms as the one before the next.
    for (const [afterMs, code] of [[101, "storage_unavailable"], [100, "outcome_unknown"]] as const) {
      const { service, reports, path, clock } = await servedHere(context);
      change(path);
      clock.advance(afterMs);
      const changed = afterMs > 100 && existsSync(path) ? readFileSync(path) : undefined;
      await assert.rejects(service.pets.add(rex), { code });
      assert.equal(service.healthy, false);
      assert.match(reports.join("\n"), /^[^\n]*another process modified or replaced it[^\n]*$/);
      assert.equal((await service.pets.list()).pets.length, 1);
      assert.deepEqual(changed, changed && readFileSync(path), "nothing is written");
      await service.close();
      if (changed?.includes("hello")) {
        const next = await runningService(context, { options: { dataDir } });
        assert.equal((await next.service.pets.list()).pets.length, 1, "the next start serves");
        await next.service.close();
      } else if (existsSync(path) && readFileSync(path, "utf8").includes("hello")) {
        const starting = runningService(context, { options: { dataDir } });
        await assert.rejects(starting, /^DamagedLogError: /, "a group was written after it, so the next start refuses");
      }
      rmSync(path, { force: true });
    }
  });


  test(`if another process ${title} and nothing is added any more, the stop says so`, async (context) => {
    const { service, reports, path } = await servedHere(context);
    change(path);
    await service.close();
    assert.match(reports.join("\n"), /^[^\n]*another process modified or replaced it; .* a restart, which serves only what is there$/);
  });
}
