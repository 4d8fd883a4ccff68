/**
 * `export` from a data folder: what it writes starts, short, with the same animals, next id, replays, keys and limits as
 * of one instant. From a database: test/postgres/transfer.test.js. An export that is killed: test/fault/export.test.ts.
 */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { fileOf } from "../../src/disk/file-bytes.ts";
import { type PetChange, petStatuses } from "../../src/pets/pet.ts";
import { type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { exportFolder } from "../../src/transfer/export-folder.ts";
import { PetFileLines } from "../../src/transfer/pet-file-lines.ts";
import { salvagePets } from "../../src/transfer/salvage-pets.ts";
import { newClient } from "../support/client.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { createKey, start } from "../support/program.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { always, hashOf } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";

const rex = { name: "Rex", categoryId: 1 };

interface Shop {
  readonly data: string;
  readonly target: string;
  /** Runs with the service on one of the folders. */
  readonly serving: (folder: string, use: (client: ReturnType<typeof newClient>) => Promise<void>) => Promise<void>;
}

async function newShop(context: TestContext): Promise<Shop> {
  const folder = temporaryFolder(context);
  const [data, target] = [join(folder, "data"), join(folder, "new")];
  const key = await createKey(["--data", data]);
  return {
    data,
    target,
    async serving(dataDir, use) {
      const program = await start(context, ["--data", dataDir]);
      const client = newClient(program, key);
      await use(client);
      client.close();
      assert.equal(await program.stop("SIGTERM"), 0);
    },
  };
}

test("an export alone starts: one line for each animal but for its replays, the same animals, keys and limits", async (context) => {
  const { data, target, serving } = await newShop(context);
  let list = "";
  await serving(data, async (client) => {
    for (const id of [1, 2, 3]) {
      await client.add(rex, id === 2 ? { "idempotency-key": "two" } : {});
      for (const status of ["pending", "available", "sold"] as const) {
        await client.change(id, status, { "if-match": "*", ...(status === "available" && id > 1 && { "idempotency-key": `free-${id}` }) });
      }
    }
    list = (await client.get("/v1/pets")).text;
  });
  await createKey(["--data", data]);
  const lastKey = (await runHere(["keys", "list", "--json", "--data", data])).stdout.trim().split("\n").at(-1);
  assert.equal((await runHere(["keys", "revoke", JSON.parse(lastKey ?? "").id, "--data", data])).code, 0);
  const { code, stdout, stderr } = await runHere(["export", target, "--data", data]);
  assert.deepEqual([code, stdout, stderr], [0, "exported 3 animals and 2 keys, 1 of them active\n", ""]);
  assert.deepEqual(readdirSync(target).sort(), ["keys.jsonl", "limits.json", "pets.jsonl"]);
  const lines = readFileSync(join(target, "pets.jsonl"), "utf8").split("\n").slice(0, -1);
  assert.equal(lines.length, 3 + 2 + 2, "animals, replays of changes, and what has become of those animals");
  for (const name of ["keys.jsonl", "limits.json"]) {
    assert.deepEqual(readFileSync(join(target, name)), readFileSync(join(data, name)));
  }
  await serving(target, async (client) => assert.equal((await client.get("/v1/pets")).text, list));
});

test("an export beside a service is a backup of that instant, says so, and the service goes on", async (context) => {
  const { data, target, serving } = await newShop(context);
  const list = async (client: ReturnType<typeof newClient>): Promise<string> => (await client.get("/v1/pets?limit=100")).text;
  let before = "";
  await serving(data, async (client) => {
    await client.add(rex, { "idempotency-key": "one" });
    await client.change(1, "sold", { "if-match": "*" });
    before = await list(client);
    const { code, stdout } = await runHere(["export", target, "--data", data]);
    assert.equal(code, 0);
    assert.match(stdout, /^exported 1 animal and 1 key; .* a backup, without what is confirmed from now on\n$/);
    assert.equal((await client.add(rex)).status, 201);
  });
  await serving(target, async (client) => {
    assert.equal(await list(client), before);
    const again = await client.add(rex, { "idempotency-key": "one" });
    assert.deepEqual([again.status, again.headers["idempotent-replayed"]], [201, "true"]);
    assert.equal((await client.add(rex)).headers["location"], "/v1/pets/2");
  });
});

test("an export of a damaged folder, of none, or to one that has files is refused, and leaves nothing", async (context) => {
  const folder = temporaryFolder(context);
  const [data, target] = [join(folder, "data"), join(folder, "new")];
  const refused = async (reason: RegExp, to = target): Promise<void> => {
    const { code, stdout, stderr } = await runHere(["export", to, "--data", data]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, reason);
  };
  await refused(/^Cannot export \S+: it has none of keys\.jsonl, limits\.json, pets\.jsonl\n$/);
  assert.deepEqual(readdirSync(folder), []);
  mkdirSync(data);
  writeFileSync(join(data, "pets.jsonl"), lineWithChecksum('{"id":2,"name":"x","categoryId":1,"status":"sold","group":2}'));
  await refused(/^Cannot export \S+: \S+pets\.jsonl is damaged at line 1, byte 0: the animal has id 2 instead of 1\n$/);
  assert.deepEqual(readdirSync(target), []);
  await refused(/^Cannot export to \S+: it has a pets\.jsonl already\n$/, data);
  writeFileSync(join(data, "pets.jsonl"), "");
  writeFileSync(join(data, "keys.jsonl"), '{"event":"revoked"}\n{"event":"revoked"}\n');
  await refused(/^Cannot export \S+: \S+keys\.jsonl is damaged at line 1, byte 0: /);
  writeFileSync(join(target, "limits.json"), "");
  await refused(/^Cannot export to \S+: it has a limits\.json already\n$/);
});

test("an export and a salvage refuse a folder's name that nobody has expanded", async (context) => {
  const { data } = await newShop(context);
  for (const command of [["export"], ["check", "--salvage"]]) {
    const { code, stderr } = await runHere([...command, "~/backup", "--data", data]);
    assert.match(`${code} ${stderr}`, /^2 Cannot write to ~\/backup: it must be the folder itself: .* are not expanded here\n$/);
    const blank = await runHere([...command, "backup ", "--data", data]);
    assert.match(`${blank.code} ${blank.stderr}`, /^2 Cannot write to backup : it must not begin or end with .*\n$/);
  }
});

function logOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => lineWithChecksum(`${line}}`)).join(""));
}

test("a hash that no longer counts is left out, and the next id stays, also after ids that no animal has", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const clock = new ManualClock();
  const at = Math.floor(clock.wallMs() / 1_000);
  const create = '{"id":1,"name":"x","categoryId":1,"status":"';
  const once = (seconds: number): string => `,"once":"${"h".repeat(22)}","at":${seconds}`;
  const [old, kept] = [once(at - 24 * 3_600 - 3), once(at - 24 * 3_600)];
  disk.place("/data/pets.jsonl", logOf([
    `${create}sold","group":1${old}`, `{"id":1,"status":"pending","line":2,"group":2${kept}`,
    '{"id":1,"status":"available","line":3,"group":3', '{"id":9,"after":1,"line":4,"group":4',
  ]));
  await exportFolder("/data", "/new", { disk: disk.boot(), clock, report: assert.fail });
  assert.equal(disk.seen("/new/pets.jsonl").toString(), logOf([
    `${create}pending","version":2,"group":1`, `{"id":1,"status":"pending","version":2,"line":2,"group":2${kept}`,
    '{"id":1,"status":"available","version":3,"line":3,"group":3', '{"id":9,"after":1,"line":4,"group":4',
  ]).toString());
});

test("what an export writes of an animal leads through each of its replays to what it is, and versions ascend", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const clock = new ManualClock();
  const at = Math.floor(clock.wallMs() / 1_000);
  const animal = (id: number, name: string, status = "available"): string => `{"id":${id},"name":"${name}","categoryId":1,"status":"${status}"`;
  const place = (line: number): string => `"line":${line},"group":${line}`;
  const once = (letter: string): string => `"once":"${letter.repeat(22)}","at":${at}`;
  const change = (id: number, status: string): string => `{"id":${id},"status":"${status}"`;
  disk.place("/data/pets.jsonl", logOf([
    `${animal(1, "Rex")},"group":1`, `${animal(2, "Tom")},"group":2,${once("d")}`, `${animal(3, "Kay")},"group":3`,
    `${animal(4, "Leo")},"group":4`, `${animal(5, "Ida")},"group":5`,
    `${animal(1, "Max")},"version":2,${place(6)},"at":${at - 200_000}`, `${change(1, "sold")},${place(7)},${once("a")}`,
    `${animal(1, "Bo", "sold")},"version":4,${place(8)},"at":${at}`, `${change(1, "sold")},${place(9)},${once("b")}`,
    `${animal(1, "Kim", "sold")},"version":6,${place(10)},${once("c")}`, `${change(1, "available")},${place(11)}`,
    `${animal(2, "Sam")},"version":2,${place(12)},"at":${at}`, `${change(2, "removed")},${place(13)}`,
    `${change(3, "removed")},${place(14)},${once("e")}`, `${change(5, "removed")},${place(15)}`,
    `${animal(4, "Lea")},"version":2,${place(16)},"at":${at}`, `${change(4, "sold")},${place(17)}`,
  ]));
  await exportFolder("/data", "/new", { disk: disk.boot(), clock, report: assert.fail });
  assert.equal(disk.seen("/new/pets.jsonl").toString(), logOf([
    `${animal(1, "Max", "sold")},"version":3,"group":1`,
    `${animal(2, "Tom")},"group":2,${once("d")}`,
    `${change(1, "sold")},"version":3,${place(3)},${once("a")}`,
    `${animal(1, "Bo", "sold")},"version":5,${place(4)},${once("b")}`,
    `${animal(1, "Kim", "sold")},"version":6,${place(5)},${once("c")}`,
    `${animal(3, "Kay")},"version":2,${place(6)}`,
    `${change(3, "removed")},"version":2,${place(7)},${once("e")}`,
    `${animal(4, "Lea", "sold")},"version":3,${place(8)}`,
    `${change(2, "removed")},"version":3,${place(9)}`,
    `${change(1, "available")},"version":7,${place(10)}`,
    `{"id":5,"after":4,${place(11)}`,
  ]).toString());
});

test("corrections that a clock dated days ahead do not make an export forget what an animal was", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const clock = new ManualClock();
  const open = (dataDir: string): Promise<JsonLinesPetStore> => openPetStore({ disk: disk.boot(), clock, dataDir, report: assert.fail });
  const pet = { name: "Rex", categoryId: 1n, status: "sold" } as const;
  const hash = "h".repeat(22);
  const store = await open("/data");
  const first = await store.add(pet, hash);
  for (const stepMs of [0, 48, 48, 48, -144].map((hours) => hours * 3_600_000)) {
    clock.stepWall(stepMs);
    await store.change(1, { name: `Rex ${clock.wallMs()}` }, always);
  }
  await store.close();
  await exportFolder("/data", "/new", { disk: disk.boot(), clock, report: assert.fail });
  for (const dataDir of ["/data", "/new"]) {
    const again = await open(dataDir);
    assert.deepEqual(await again.add(pet, hash), { ...first, isReplay: true }, dataDir);
    await again.close();
  }
});

test("whatever was done, an export has the same animals, tags, replays and next id, and a second one is the same", seeded(async (random) => {
  for (let round = 0; round < 4; round++) {
    await exportHistory(random);
  }
}));

async function exportHistory(random: SeededRandom): Promise<void> {
  const disk = new SimulatedDisk(random);
  const clock = new ManualClock();
  const open = (dataDir: string): Promise<JsonLinesPetStore> => openPetStore({ disk: disk.boot(), clock, dataDir, report: assert.fail });
  disk.place("/data/pets.jsonl", Buffer.from(lineWithChecksum('{"id":5,"after":0,"line":1,"group":1}')));
  const requests: ((store: JsonLinesPetStore) => Promise<unknown>)[] = [];
  for (let life = 0; life < 3; life++) {
    const store = await open("/data");
    for (let count = random.integer(0, 60); count > 0; count--) {
      const hash = random.oneIn(2) ? hashOf(requests.length) : undefined;
      const request = randomRequest(random, 5 + store.animalCount, hash);
      const result = await request(store);
      if (hash !== undefined && !("kind" in Object(result) && (result as { kind: string }).kind === "absent")) {
        requests.push(request);
      }
    }
    await store.close();
    clock.advance(random.integer(0, 13) * 3_600_000);
  }
  const report = assert.fail;
  const { pets } = await exportFolder("/data", "/new", { disk: disk.boot(), clock, report });
  await exportFolder("/new", "/again", { disk: disk.boot(), clock, report });
  const exported = disk.seen("/new/pets.jsonl");
  assert.deepEqual(disk.seen("/again/pets.jsonl"), exported);
  const salvaged = [];
  for await (const piece of salvagePets(fileOf(exported), new PetFileLines(), report)) {
    salvaged.push(Buffer.from(piece));
  }
  assert.deepEqual(Buffer.concat(salvaged), exported, "a salvage finds nothing lost in it");
  // A service forgets the oldest hashes by their order in the file.
  const linesOf = (folder: string): string[] => disk.seen(`${folder}/pets.jsonl`).toString().split("\n");
  const [all, counting] = ["/data", "/new"].map((folder) => {
    return linesOf(folder).flatMap((line) => /"once":"([\w-]+)"/.exec(line)?.slice(1) ?? []);
  }) as [string[], string[]];
  assert.deepEqual(counting, all.slice(all.length - counting.length));
  assert.ok(linesOf("/new").length <= linesOf("/data").length);
  const outcomes: unknown[] = [];
  for (const dataDir of ["/data", "/new"]) {
    const store = await open(dataDir);
    assert.equal(store.animalCount, pets?.catalogue.count);
    const before = everythingIn(store);
    const replayed = [];
    for (const request of requests) {
      replayed.push(await request(store));
    }
    const { id } = await store.add({ name: "Tom", categoryId: 1n, status: "sold" });
    outcomes.push({ before, replayed, id, after: everythingIn(store) });
    await store.close();
  }
  assert.deepEqual(outcomes[1], outcomes[0]);
}

const categories = [1n, -7n, 2n ** 63n - 1n];

function randomRequest(random: SeededRandom, idMax: number, hash: string | undefined): (store: JsonLinesPetStore) => Promise<unknown> {
  const [id, status, name, categoryId] = [
    random.integer(1, idMax), random.pick(petStatuses), `Rex ${random.integer(1, 3)}`, random.pick(categories),
  ];
  const change = random.pick<PetChange>([{ status }, { name }, { status, categoryId }, { name, categoryId, status }]);
  const kind = random.pick(["add", "change", "change", "remove"]);
  const isRemoval = kind === "remove" && random.oneIn(3);
  return (store) =>
    kind === "add"
      ? store.add({ name, categoryId, status }, hash)
      : isRemoval
        ? store.remove(id, always, hash)
        : store.change(id, change, always, hash);
}

/** Each animal with its version, and the lists of each status and category. */
function everythingIn(store: JsonLinesPetStore): unknown {
  const [all, ...lists] = [undefined, ...petStatuses].flatMap((status) => {
    return [undefined, ...categories].map((categoryId) => String(store.list({ after: 0, limit: 1_000, status, categoryId }).json));
  });
  const ids = [...all!.matchAll(/\{"id":(\d+)/g)].map(([, id]) => Number(id)); // The first list.
  return { all, lists, animals: ids.map((id) => store.get(id)) };
}
