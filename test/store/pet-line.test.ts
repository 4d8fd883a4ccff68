/**
 * The grammar of a line of pets.jsonl: what is written is read back. Of other lines, damage, which a crash or a flipped
 * bit may leave, is distinguished from sound lines that this program did not write.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { lineWithChecksum, viewOf } from "../../src/log/checksum.ts";
import { petToJson } from "../../src/pets/pet.ts";
import { createPetLine, encodePetLine, petLineBytesMax, readPetLine } from "../../src/store/pet-line.ts";

const members = { id: 8, name: "Rex", categoryId: 1n, status: "sold" } as const;

function read(line: string): string | undefined {
  const bytes = Buffer.from(line);
  return readPetLine(viewOf(bytes), 0, bytes.length, createPetLine())?.kind;
}

/** A line with a right checksum, whatever its content. */
function checksummed(json: string): string {
  return lineWithChecksum(json).slice(0, -1);
}

test("readPetLine() reads what encodePetLine() wrote: odd names, and int64 to its bounds", () => {
  const names = ["Rex", "é", "小白 🐕", '"\\', "\u0001\u001f\n\t", "\u2028", "x".repeat(255), "\u0001".repeat(255)];
  for (const name of names) {
    for (const categoryId of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      const line = { ...createPetLine(), group: 7 };
      const bytes = Buffer.alloc(petLineBytesMax);
      const end = encodePetLine({ bytes, view: viewOf(bytes) }, 0, petToJson({ ...members, name, categoryId }), line);
      const found = createPetLine();
      assert.equal(readPetLine(viewOf(bytes), 0, end - 1, found), undefined, JSON.stringify(name));
      assert.deepEqual([found.id, found.group, found.statusIndex, found.textEnd], [8, 7, 2, line.textEnd]);
    }
  }
});

test("readPetLine() reads lines as release 1.1.0 wrote them", () => {
  for (const line of [
    '{"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7,"crc":"4957f9f9"}',
    '{"id":2,"name":"Max","categoryId":-5,"status":"pending","group":1,"once":"abcdefghijklmnopqrstuv","at":1795219200,"crc":"26a87dca"}',
  ]) {
    assert.equal(read(line), undefined, line);
  }
});

test("no line is longer than petLineBytesMax", () => {
  const id = 999_999_999_999_999; // Longer ones are not read.
  const line = { ...createPetLine(), group: id, atSeconds: id };
  const json = petToJson({ id, name: "\u0001".repeat(255), categoryId: -(2n ** 63n), status: "available" });
  const bytes = Buffer.alloc(2 * petLineBytesMax);
  assert.ok(encodePetLine({ bytes, view: viewOf(bytes) }, 0, json, line, "x".repeat(22)) <= petLineBytesMax);
});

test("readPetLine() finds a line with a right checksum and unknown members wrong: a newer release may have written it", () => {
  const good = '{"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7}';
  const withHash = good.replace('"group":7', '"group":7,"once":"abcdefghijklmnopqrstuv","at":1795219200');
  assert.deepEqual([good, withHash].map((line) => read(checksummed(line))), [undefined, undefined]);
  const deviations = [
    good.replace('"group":7', '"group":7,"colour":"red"'),
    good.replace('"status":"sold",', ""),
    good.replace("sold", "lost"),
    good.replace('"id":8', '"id":0'),
    good.replace('"group":7', '"group":0'),
    good.replace('"id":8', '"id":"8"'),
    good.replace('"categoryId":1', '"categoryId":1.5'),
    good.replace('"categoryId":1', '"categoryId":1e5'),
    good.replace('"Rex"', "null"),
    good.replace('{"id"', '{ "id"'),
    good.replace('"Rex"', '"Rex","colour":"red"'),
    good.replace('"Rex"', '"Rex\\"'),
    good.replace('"group":7', '"group":7,"once":"x"'),
    ...["name", "categoryId", "status", "group"].map((member) => good.replace(`"${member}"`, `"${member.toUpperCase()}"`)),
    '{"a":1}',
    good.replace('"id":8', '"id":8a'),
    good.replace('"group":7', '"group":7x'),
    ...["oncE", "aT"].map((member) => withHash.replace(new RegExp(`"${member}"`, "i"), `"${member}"`)),
  ];
  for (const deviation of deviations) {
    assert.equal(read(checksummed(deviation)), "wrong", deviation);
  }
});
