/**
 * The animals in memory against a naive model: an array that is gone through.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { viewOf } from "../../src/base/checksum.ts";
import { Catalogue } from "../../src/store/catalogue.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";

const statuses = ["available", "so", "a status that is longer than sixteen characters"];
const borders = [0, 1, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 8_193];

interface Animal {
  readonly id: number;
  /** Each text up to its status, by version - 1. */
  readonly starts: string[];
  category: number;
  /** Undefined once it is removed. */
  status: number | undefined;
}

class Pair {
  readonly catalogue: Catalogue = new Catalogue(statuses);
  /** Undefined where no animal has had the id. */
  readonly model: (Animal | undefined)[] = [];
  nameLengthMax = 40;
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  grow(count: number): void {
    for (let added = 0; added < count; added++) {
      const animal = { id: this.model.length + 1, starts: [], category: 0, status: this.#random.integer(0, statuses.length - 1) };
      const { bytes, start, end } = this.#newText(animal);
      this.catalogue.append(bytes, start, end, animal.status, 1);
      this.model.push(animal);
    }
  }

  /** Gives the animal a text, and returns where it stands. */
  #newText(animal: Animal): { bytes: DataView; start: number; end: number } {
    const random = this.#random;
    animal.category = random.pick([0, 0, 0, -7, 5]);
    const name = (random.oneIn(2) ? "ü" : "\u{10ffff}\u007f").repeat(random.integer(0, this.nameLengthMax));
    const start = `{"id":${animal.id},"name":"${name}","categoryId":${animal.category},"status":"`;
    animal.starts.push(start);
    const line = Buffer.from(`before${start}after`);
    return { bytes: viewOf(line), start: "before".length, end: line.length - "after".length };
  }

  skip(count: number): void {
    this.model.push(...Array<undefined>(count).fill(undefined));
    this.catalogue.skipTo(this.model.length);
  }

  change(count: number): void {
    const random = this.#random;
    for (let changed = 0; changed < count; changed++) {
      const animal = this.model[random.integer(1, this.model.length) - 1];
      if (animal?.status === undefined) {
        continue;
      }
      const { id, starts } = animal;
      const version = starts.length + 1;
      const isRemoval = random.oneIn(20);
      animal.status = isRemoval ? undefined : random.integer(0, statuses.length - 1);
      if (random.oneIn(2) && animal.status !== undefined) {
        this.catalogue.correct(id, this.#newText(animal), animal.status, version, 0);
      } else {
        this.catalogue.changeStatus(id, animal.status ?? statuses.length, version);
        starts.push(starts.at(-1) ?? assert.fail());
      }
    }
  }

  textOf(id: number): string | undefined {
    const animal = this.model[id - 1];
    return animal?.status === undefined ? undefined : `${animal.starts.at(-1)}${statuses[animal.status]}"}`;
  }

  checkEach(): void {
    this.model.forEach((animal, index) => {
      const id = index + 1;
      assert.equal(this.catalogue.get(id), this.textOf(id));
      assert.equal(this.catalogue.statusOf(id), animal?.status);
      assert.equal(animal?.starts.length ?? 1, this.catalogue.versionOf(id));
      animal?.starts.forEach((start, version) => assert.equal(this.catalogue.textOf(id, version + 1), start));
    });
    assert.equal(this.catalogue.count, this.model.filter((animal) => animal?.status !== undefined).length);
    statuses.forEach((_, status) => {
      assert.equal(this.catalogue.countOf(status), this.model.filter((animal) => animal?.status === status).length);
    });
  }

  check(after: number, limit: number, status: number | undefined, category?: number): void {
    const ids: number[] = [];
    for (let id = after + 1; id <= this.model.length && ids.length <= limit; id++) {
      const animal = this.model[id - 1];
      const isMatch = (status ?? animal?.status) === animal?.status && (category ?? animal?.category) === animal?.category;
      if (animal?.status !== undefined && isMatch) {
        ids.push(id);
      }
    }
    const expected = ids.slice(0, limit).map((id) => this.textOf(id));
    const { json, nextAfter } = this.catalogue.page(after, limit, status, category);
    const query = `after ${after}, limit ${limit}, status ${status}, category ${category}, of ${this.model.length}`;
    assert.equal(json, `[${expected.join(",")}]`, query);
    assert.equal(nextAfter, ids.length > limit ? ids[limit - 1] : undefined, query);
  }

  checkSome(count: number): void {
    for (let query = 0; query < count; query++) {
      const near = this.#random.pick([...borders, this.model.length]) - this.#random.integer(0, 130);
      const after = this.#random.oneIn(2) ? Math.max(0, near) : this.#random.integer(0, this.model.length + 2);
      const limit = this.#random.pick([1, 2, 20, 100, 126, 127, 128, 129, 500]);
      this.check(after, limit, this.#random.pick([undefined, 0, 1, 2]), this.#random.pick([undefined, 0, -7, 5, 6]));
    }
  }
}

for (const count of [0, 1, 4_095, 4_096, 4_097, 8_193]) {
  test(`Catalogue.page() of ${count} animals equals the model's, filtered or not`, seeded(async (random) => {
    const pair = new Pair(random);
    pair.grow(count);
    await pair.catalogue.indexCategories();
    assert.equal(pair.catalogue.count, count);
    pair.checkSome(150);
  }));
}

for (const count of [1, 10, 4_097, 8_193]) {
  test(`Catalogue of ${count} animals equals the model after any changes, corrections and removals, in pages and alone`, seeded(async (random) => {
    const pair = new Pair(random);
    pair.grow(count);
    await pair.catalogue.indexCategories();
    for (let round = 0; round < 5; round++) {
      pair.change(random.pick([1, 10, count]));
      pair.checkSome(30);
      pair.grow(random.integer(0, 3));
    }
    pair.checkEach();
  }));
}

for (const lengths of [[1], [0, 1], [5_000, 1], [1, 1, 1, 4_096, 1, 1], [4_095, 1, 1], [4_096, 4_096, 1], [300, 2, 40, 9_000, 4_000]]) {
  test(`Catalogue of animals and gaps by turns (${lengths.join()}) equals the model, which passes over the gaps`, seeded(async (random) => {
    const pair = new Pair(random);
    lengths.forEach((length, index) => (index % 2 === 0 ? pair.skip(length) : pair.grow(length)));
    await pair.catalogue.indexCategories();
    for (let round = 0; round < 3; round++) {
      pair.checkSome(50);
      pair.checkEach();
      pair.change(100);
      pair.skip(random.integer(0, 2));
      pair.grow(random.integer(0, 2));
    }
  }));
}

test("Catalogue makes room for texts that corrections make longer than their block", seeded(async (random) => {
  const pair = new Pair(random);
  pair.nameLengthMax = 1;
  pair.grow(4_200);
  await pair.catalogue.indexCategories();
  for (pair.nameLengthMax = 10; pair.nameLengthMax < 200; pair.nameLengthMax *= 4) {
    pair.change(5_000);
    pair.checkSome(20);
    pair.checkEach();
  }
}));
