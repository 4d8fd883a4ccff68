/**
 * The grammar of a line of pets.jsonl: what is written is read back. Of other lines, damage, which a crash or a flipped
 * bit may leave, is distinguished from intact lines that this program did not write.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { lineWithChecksum, viewOf } from "../../src/base/checksum.ts";
import { petVersionMax } from "../../src/pets/pet-store.ts";
import { petStatuses, petToJson } from "../../src/pets/pet.ts";
import {
  createPetLine, encodeGap, encodePetLine, type LineContent, type PetLine, petLineBytesMax, readPetLine, removedIndex,
} from "../../src/store/pet-line.ts";

const hash = "abcdefghijklmnopqrstuv";
const members = { id: 8, name: "Rex", categoryId: 1n, status: "sold" } as const;

function read(line: string): string | undefined {
  const bytes = Buffer.from(line);
  return readPetLine(viewOf(bytes), 0, bytes.length, createPetLine())?.kind;
}

/** A line with a right checksum, whatever its content. */
function checksummed(json: string): string {
  return lineWithChecksum(json).slice(0, -1);
}

/** Writes a line, and returns it with what is read of it. */
function rewritten(content: LineContent, places: Partial<PetLine>): { text: string; written: PetLine; found: PetLine } {
  const written = { ...createPetLine(), ...places };
  const bytes = Buffer.alloc(2 * petLineBytesMax);
  const end = encodePetLine({ bytes, view: viewOf(bytes) }, 0, content, written);
  const found = createPetLine();
  assert.equal(readPetLine(viewOf(bytes), 0, end - 1, found), undefined);
  return { text: bytes.toString("utf8", 0, end - 1), written, found: { ...found, integerEnd: 0 } };
}

test("readPetLine() reads what encodePetLine() wrote: odd names, and int64 to its bounds", () => {
  const names = ["Rex", "é", "小白 🐕", '"\\', "\u0001\u001f\n\t", "\u2028", "x".repeat(255), "\u0001".repeat(255)];
  for (const name of names) {
    for (const categoryId of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      for (const number of [8, 9]) {
        const json = petToJson({ ...members, name, categoryId });
        const content = { id: 8, kind: "create" as const, statusIndex: 2, version: 0, json, idempotencyHash: undefined };
        const { text, written, found } = rewritten(content, { number, group: 7 });
        assert.deepEqual(found, written, text);
        assert.equal(text.startsWith(json.slice(0, -1)), true, text);
      }
    }
  }
});

test("readPetLine() reads the change that encodePetLine() wrote", () => {
  for (const idempotencyHash of [undefined, hash]) {
    for (const number of [8, 9, 999_999_999_999_999]) {
      const content = { id: 8, kind: "change" as const, statusIndex: 1, version: 0, json: "", idempotencyHash };
      const { text, written, found } = rewritten(content, { number, group: 7, atSeconds: idempotencyHash === undefined ? 0 : 5 });
      assert.deepEqual(found, written, text);
      assert.equal(text.startsWith(`{"id":8,"status":"pending","line":${number},"group":7,`), true, text);
    }
  }
});

test("readPetLine() reads the correction that encodePetLine() wrote, also if its number is the animal's id", () => {
  const odd = ["Rex", '"categoryId":7', '","status":"sold","version":9,"line":1', '\\","once":"', "\u0001".repeat(255)];
  for (const name of odd) {
    for (const [statusIndex, status] of petStatuses.entries()) {
      for (const [number, version] of [[8, 2], [9, petVersionMax]] as const) {
        for (const idempotencyHash of [undefined, hash]) {
          const json = petToJson({ ...members, name, status });
          const content = { id: 8, kind: "correction" as const, statusIndex, version, json, idempotencyHash };
          const { text, written, found } = rewritten(content, { number, group: 7, atSeconds: 5 });
          assert.deepEqual(found, { ...written, kind: "correction" }, text);
          const once = idempotencyHash === undefined ? "" : `,"once":"${hash}"`;
          const line = `${json.slice(0, -1)},"version":${version},"line":${number},"group":7${once},"at":5}`;
          assert.equal(text, checksummed(line));
        }
      }
    }
  }
});

test("readPetLine() reads the version that an export says of an animal or a change", () => {
  const json = petToJson(members);
  for (const number of [8, 9]) {
    const create = { id: 8, kind: "create" as const, statusIndex: 2, version: 7, json, idempotencyHash: undefined };
    const place = number === 8 ? "" : `,"line":${number}`;
    const { text, written, found } = rewritten(create, { number, group: 7 });
    assert.deepEqual(found, { ...written, kind: "create" }, text);
    assert.equal(text, checksummed(`${json.slice(0, -1)},"version":7${place},"group":7}`));
  }
  for (const idempotencyHash of [undefined, hash]) {
    const change = { id: 8, kind: "change" as const, statusIndex: removedIndex, version: 7, json: "", idempotencyHash };
    const { text, written, found } = rewritten(change, { number: 9, group: 7, atSeconds: idempotencyHash === undefined ? 0 : 5 });
    assert.deepEqual(found, { ...written, kind: "change" }, text);
    assert.match(text, /^\{"id":8,"status":"removed","version":7,"line":9,"group":7,/);
  }
});

test("readPetLine() reads the gap that encodeGap() wrote, and finds any other gap wrong", () => {
  for (const [id, after, number] of [[1, 0, 1], [9, 7, 8], [999_999_999_999_999, 999_999_999_999_998, 999_999_999_999_999]] as const) {
    const bytes = Buffer.alloc(petLineBytesMax);
    const end = encodeGap({ bytes, view: viewOf(bytes) }, 0, { ...createPetLine(), id, after, number });
    const found = createPetLine();
    assert.equal(readPetLine(viewOf(bytes), 0, end - 1, found), undefined);
    assert.deepEqual([found.id, found.kind, found.after, found.number, found.group, found.hashStart], [id, "gap", after, number, number, 0]);
    assert.equal(bytes.toString("utf8", 0, end), lineWithChecksum(`{"id":${id},"after":${after},"line":${number},"group":${number}}`));
  }
  const good = '{"id":9,"after":7,"line":8,"group":8}';
  assert.equal(read(checksummed(good)), undefined);
  const withHash = '8,"once":"abcdefghijklmnopqrstuv","at":1}';
  for (const [from, to] of [["7", "9"], ["7", "-1"], ["7", ""], [',"line":8', ""], ["8}", "8,}"], ["8}", withHash]] as const) {
    assert.equal(read(checksummed(good.replace(from, to))), "wrong", `${from} ${to}`);
  }
});

test("no line is longer than petLineBytesMax", () => {
  const id = 999_999_999_999_999; // Longer ones are not read.
  const json = petToJson({ id, name: "\u0001".repeat(255), categoryId: -(2n ** 63n), status: "available" });
  for (const kind of ["create", "correction", "change"] as const) {
    const content = { id, kind, statusIndex: kind === "change" ? removedIndex : 0, json, idempotencyHash: hash };
    const places = { number: id - 1, group: id - 1, atSeconds: id };
    const { text } = rewritten({ ...content, version: kind === "create" ? 0 : petVersionMax }, places);
    assert.ok(`${text}\n`.length <= petLineBytesMax, `${kind}: ${text.length}`);
  }
});

test("readPetLine() finds a line with a right checksum and unknown members wrong: a newer release may have written it", () => {
  const good = '{"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7}';
  const withHash = good.replace('"group":7', '"group":7,"once":"abcdefghijklmnopqrstuv","at":1795219200');
  const change = '{"id":8,"status":"sold","line":9,"group":7}';
  const numbered = good.replace('"group"', '"line":9,"group"');
  const correction = good.replace('"group":7', '"version":2,"line":9,"group":7,"at":5');
  const keyed = correction.replace('"at"', `"once":"${hash}","at"`);
  const exported = good.replace('"group"', '"version":2,"group"');
  for (const line of [good, withHash, change, numbered, correction, keyed, exported]) {
    assert.equal(read(checksummed(line)), undefined, line);
  }
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
  deviations.push(
    good.replace('"group"', '"line":8,"group"'),
    ...[change, numbered].flatMap((line) => [
      line.replace('"line":9', '"line":0'),
      line.replace('"line":9', '"line":9x'),
      line.replace('"line":9', '"line":'),
      line.replace('"line"', '"lime"'),
      line.replace(',"group":7', ""),
      line.replace('"line":9,"group":7', '"group":7,"line":9'),
    ]),
    change.replace('"line":9,', ""),
    change.replace('"status":"sold",', ""),
    change.replace('"sold"', '"lost"'),
    change.replace('"id":8', '"id":0'),
    change.replace('"id":8', '"id":8,"name":"Rex"'),
    change.replace('"id":8', '"id":8,"categoryId":1'),
    change.replace("}", ',"at":5}'),
    numbered.replace("}", ',"at":5}'),
    ...[correction, keyed, exported, change.replace('"line"', '"version":2,"line"')].flatMap((line) => [
      line.replace('"version":2', '"version":0'),
      line.replace('"version":2', '"version":-2'),
      line.replace('"version":2', '"version":"2"'),
      line.replace('"version":2', '"version":1234567890123456'),
      line.replace('"version":2,', '"version":2,"version":2,'),
      line.replace(/("version":2),("line":9,)?("group":7)/, "$2$3,$1"),
    ]),
    ...[correction, keyed].flatMap((line) => [
      line.replace('"sold"', '"removed"'),
      line.replace('"at":5', '"at":'),
      line.replace('"at":5', '"at":5,"at":5'),
      line.replace('"categoryId":1,', ""),
    ]),
  );
  for (const deviation of deviations) {
    assert.equal(read(checksummed(deviation)), "wrong", deviation);
  }
});
