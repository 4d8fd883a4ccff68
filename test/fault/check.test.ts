/**
 * `check` and a start look at the same damaged folder, on a simulated disk: they have to say the same. And `check` changes
 * nothing on the disk.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { check } from "../../src/cli/check.ts";
import { checkOptions } from "../../src/options.ts";
import { openService } from "../../src/service.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { SeededRandom, seeded } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { recordingTerminal } from "../support/terminal.ts";

const dataDir = "/data";
const flipCount = Number(process.env["FLIPS"] ?? 60);

/** The two files that a start may refuse. */
interface Files {
  readonly pets: Buffer;
  readonly keys: Buffer;
}

let sound: Files = { pets: Buffer.alloc(0), keys: Buffer.alloc(0) };

before(async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const service = await openService(checkOptions({ dataDir, report: assert.fail }), { disk: disk.boot() });
  const { id } = await service.keys.create({ label: "shop" });
  await service.keys.plan(id, { plan: "pro" });
  await service.keys.label(id, "till");
  await service.keys.expire(id, "2100-01-31");
  await service.keys.create();
  await service.keys.revoke(id);
  await service.close();
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  for (const length of [1, 3, 2]) {
    const names = Array.from({ length }, (_, index) => `Ø${index} "x"`);
    await Promise.all(names.map((name) => store.add({ name, categoryId: -5n, status: "sold" })));
  }
  await store.close();
  sound = { pets: disk.seen("/data/pets.jsonl"), keys: disk.seen("/data/keys.jsonl") };
});

interface CheckOutput {
  readonly code: number;
  readonly stdout: string;
}

async function checked(disk: SimulatedDisk): Promise<CheckOutput> {
  const calls = new Set<string>();
  const namesBefore = disk.names();
  disk.plan = (_, name) => {
    calls.add(name);
    return "none";
  };
  const terminal = recordingTerminal();
  const code = await check(["--data", dataDir], terminal, disk.boot());
  disk.plan = () => "none";
  const { stdout, stderr } = terminal.output();
  assert.equal(stderr, "");
  // A lock that is taken and released at once, and the catalogue opened for writing, try the rights. Where a start would
  // make the first key, a file that is removed at once tries the room.
  const trying = disk.names().includes("/data/keys.jsonl") ? [] : ["append", "remove"];
  const reading = ["close", "exists", "isLocked", "lock", "openToAppend", "openToRead", "read", "release", ...trying];
  assert.deepEqual([...calls].filter((name) => !reading.includes(name)), [], "check changes nothing");
  assert.deepEqual(disk.names(), namesBefore, "and leaves nothing");
  return { code, stdout };
}

/** Resolves to whether the service opens. Asserts that `check` said so, with the same numbers and reasons. */
async function startAsChecked(disk: SimulatedDisk, { code, stdout }: CheckOutput, damage: string): Promise<boolean> {
  const reports: string[] = [];
  const options = checkOptions({ dataDir, report: (message) => void reports.push(message) });
  const about = `${damage}; check says:\n${stdout}`;
  const [petFinding = "", keyFinding = "", verdict] = stdout.split("\n");
  try {
    const service = await openService(options, { disk: disk.boot() });
    const keys = await service.keys.list();
    const activeCount = keys.filter(({ state }) => state === "active").length;
    const keyCount = activeCount === keys.length ? `${activeCount}` : `${activeCount} active of ${keys.length}`;
    const animalCount = await service.engine.countAnimals();
    await service.close();
    assert.deepEqual([code, verdict], [0, "the server would start"], about);
    assert.match(petFinding, new RegExp(`^/data/pets\\.jsonl (?:is sound:|has) ${animalCount} animal`), about);
    assert.match(keyFinding, new RegExp(`^the key file (?:is sound:|has) ${keyCount} key`), about);
    const found = /(?:the last (?:\d+ bytes|byte)|\/data\/keys\.jsonl (?:ends in|is empty)).*?(?=; it was|$)/;
    const findings = reports.map((report) => found.exec(report)?.[0]);
    const details = `${about}\na start says: ${reports.join("\n")}`;
    assert.ok(findings.every((text) => text !== undefined && stdout.includes(text)), details);
    assert.equal(`${petFinding}${keyFinding}`.includes("; "), reports.length > 0, details);
    return true;
  } catch (error) {
    if (error instanceof assert.AssertionError) {
      throw error;
    }
    const { message } = error as Error; // All that is thrown here.
    assert.deepEqual([code, verdict], [1, "the server would not start"], `${about}\na start says: ${message}`);
    assert.ok([petFinding, keyFinding].some((finding) => message.includes(finding)), `${about}\na start says: ${message}`);
    return false;
  }
}

/** Resolves to whether a folder with those files in the place of the sound ones is served. */
async function compare(files: Partial<Files>, damage: string): Promise<boolean> {
  const disk = new SimulatedDisk(new SeededRandom(1));
  for (const [name, content] of Object.entries({ ...sound, ...files })) {
    disk.place(`/data/${name}.jsonl`, content);
  }
  return startAsChecked(disk, await checked(disk), damage);
}

function linesOf(content: Buffer): string[] {
  return content.toString("latin1").split(/(?<=\n)/);
}

function joined(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(""), "latin1");
}

test("check says of a sound folder, and of an empty one, that the server would start", async () => {
  assert.equal(await compare({}, "nothing"), true);
  const empty = new SimulatedDisk(new SeededRandom(1));
  const { code, stdout } = await checked(empty);
  assert.equal(code, 0);
  const absent = ["pets", "keys"].map((name) => `/data/${name}.jsonl does not exist: a start would create it\n`).join("");
  assert.equal(stdout, `${absent}the server would start\n`);
});

for (const name of ["pets", "keys"] as const) {
  test(`check says what a start says of ${name}.jsonl cut at any byte of its last lines`, async () => {
    const content = sound[name];
    const cutLines = name === "pets" ? 3 : 1; // The last group of animals and a line before it; keys have no groups.
    const firstCut = joined(linesOf(content).slice(0, -cutLines)).length;
    for (let size = firstCut; size < content.length; size++) {
      assert.equal(await compare({ [name]: content.subarray(0, size) }, `cut at ${size}`), true, `cut at ${size}`);
    }
  });

  test(`check says what a start says of ${name}.jsonl with a flipped bit`, seeded(async (random) => {
    let servedCount = 0;
    for (let flip = 0; flip < flipCount; flip++) {
      const content = Buffer.from(sound[name]);
      const bit = random.integer(0, content.length * 8 - 1);
      content[bit >> 3]! ^= 1 << (bit & 7); // Within the file.
      servedCount += (await compare({ [name]: content }, `bit ${bit}`)) ? 1 : 0;
    }
    assert.ok(servedCount > 0 && servedCount < flipCount, `${servedCount} of ${flipCount} served`);
  }));

  test(`check says what a start says of ${name}.jsonl with lines that are missing, doubled, moved or unknown`, async () => {
    const lines = linesOf(sound[name]);
    const changes: Readonly<Record<string, readonly string[]>> = {
      "the first line is missing": lines.slice(1),
      "a line is doubled": [...lines.slice(0, 2), ...lines.slice(1)],
      "the last two are exchanged": [...lines.slice(0, -2), ...lines.slice(-2).reverse()],
      "a blank line is first": ["\n", ...lines],
      "a blank line is last": [...lines, "\n"],
      "NUL bytes stand last": [...lines, "\0".repeat(4_096)],
      "another program's line is last": [...lines, "hello\n"],
      "it is empty": [],
    };
    for (const [damage, changed] of Object.entries(changes)) {
      await compare({ [name]: joined(changed) }, damage);
    }
  });
}

test("check reports both files if both are torn", async () => {
  assert.equal(await compare({ pets: sound.pets.subarray(0, -7), keys: sound.keys.subarray(0, -7) }, "both torn"), true);
});
