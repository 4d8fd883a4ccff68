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

class Pair {
  readonly catalogue: Catalogue = new Catalogue(statuses);
  /** Each text up to its status; undefined where no animal has the id. */
  readonly model: ({ readonly start: string; status: number } | undefined)[] = [];
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  grow(count: number): void {
    for (let added = 0; added < count; added++) {
      const status = this.#random.integer(0, statuses.length - 1);
      const character = this.#random.integer(0, 1) === 0 ? "ü" : "\u{10ffff}\u007f";
      const start = `{"id":${this.model.length + 1},"name":"${character.repeat(this.#random.integer(0, 40))}","status":"`;
      const line = Buffer.from(`before${start}after`);
      this.catalogue.append(viewOf(line), "before".length, line.length - "after".length, status);
      this.model.push({ start, status });
    }
  }

  skip(count: number): void {
    this.model.push(...Array<undefined>(count).fill(undefined));
    this.catalogue.skipTo(this.model.length);
  }

  change(count: number): void {
    for (let changed = 0; changed < count; changed++) {
      const id = this.#random.integer(1, this.model.length);
      const animal = this.model[id - 1];
      if (animal !== undefined) {
        animal.status = this.#random.integer(0, statuses.length - 1);
        this.catalogue.changeStatus(id, animal.status);
      }
    }
  }

  textOf(id: number): string | undefined {
    const animal = this.model[id - 1];
    return animal && `${animal.start}${statuses[animal.status]}"}`;
  }

  checkEach(): void {
    this.model.forEach((animal, index) => {
      assert.equal(this.catalogue.get(index + 1), this.textOf(index + 1));
      assert.equal(this.catalogue.statusOf(index + 1), animal?.status);
    });
    assert.equal(this.catalogue.count, this.model.filter((animal) => animal !== undefined).length);
  }

  check(after: number, limit: number, status: number | undefined): void {
    const ids: number[] = [];
    for (let id = after + 1; id <= this.model.length && ids.length <= limit; id++) {
      const animal = this.model[id - 1];
      if (animal !== undefined && (status === undefined || animal.status === status)) {
        ids.push(id);
      }
    }
    const expected = ids.slice(0, limit).map((id) => this.textOf(id));
    const { json, nextAfter } = this.catalogue.page(after, limit, status);
    const query = `after ${after}, limit ${limit}, status ${status}, of ${this.model.length}`;
    assert.equal(json, `[${expected.join(",")}]`, query);
    assert.equal(nextAfter, ids.length > limit ? ids[limit - 1] : undefined, query);
  }

  checkSome(count: number): void {
    for (let query = 0; query < count; query++) {
      const near = this.#random.pick([...borders, this.model.length]) - this.#random.integer(0, 130);
      const after = this.#random.oneIn(2) ? Math.max(0, near) : this.#random.integer(0, this.model.length + 2);
      const limit = this.#random.pick([1, 2, 20, 100, 126, 127, 128, 129, 500]);
      this.check(after, limit, this.#random.pick([undefined, 0, 1, 2]));
    }
  }
}

for (const count of [0, 1, 4_095, 4_096, 4_097, 8_193]) {
  test(`Catalogue.page() of ${count} animals equals the model's, filtered or not`, seeded((random) => {
    const pair = new Pair(random);
    pair.grow(count);
    assert.equal(pair.catalogue.count, count);
    pair.checkSome(150);
  }));

  test(`Catalogue.get() finds each of ${count} animals by its id, and no other`, seeded((random) => {
    const pair = new Pair(random);
    pair.grow(count);
    pair.checkEach();
    assert.equal(pair.catalogue.statusOf(count + 1), undefined);
    assert.equal(pair.catalogue.statusOf(0), undefined);
    assert.equal(pair.catalogue.get(count + 1), undefined);
    assert.equal(pair.catalogue.get(count + 4_097), undefined);
    assert.equal(pair.catalogue.get(0), undefined);
  }));
}

for (const count of [1, 4_097, 8_193]) {
  test(`Catalogue of ${count} animals equals the model after any changes, in pages and alone`, seeded((random) => {
    const pair = new Pair(random);
    pair.grow(count);
    for (let round = 0; round < 5; round++) {
      pair.change(random.pick([1, 10, count]));
      pair.checkSome(30);
      pair.grow(random.integer(0, 3));
    }
    pair.checkEach();
  }));
}

for (const lengths of [[1], [0, 1], [5_000, 1], [1, 1, 1, 4_096, 1, 1], [4_095, 1, 1], [4_096, 4_096, 1], [300, 2, 40, 9_000, 4_000]]) {
  test(`Catalogue of animals and gaps by turns (${lengths.join()}) equals the model, which passes over the gaps`, seeded((random) => {
    const pair = new Pair(random);
    lengths.forEach((length, index) => (index % 2 === 0 ? pair.skip(length) : pair.grow(length)));
    for (let round = 0; round < 3; round++) {
      pair.checkSome(50);
      pair.checkEach();
      pair.change(100);
      pair.skip(random.integer(0, 2));
      pair.grow(random.integer(0, 2));
    }
  }));
}

test("Catalogue.page() stays right while the catalogue grows", seeded((random) => {
  const pair = new Pair(random);
  pair.grow(4_050);
  for (let step = 0; step < 100; step++) {
    pair.grow(random.integer(0, 2));
    for (const status of [undefined, 0, 1, 2]) {
      pair.check(4_040, 20, status);
      pair.check(0, 100, status);
    }
    pair.checkSome(1);
  }
}));
