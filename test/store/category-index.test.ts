/**
 * The ids of categories against a naive model: all animals, which are gone through.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { viewOf } from "../../src/base/checksum.ts";
import { type Category, categoryIn, CategoryIndex, categoryOf } from "../../src/store/category-index.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";

const statusCount = 3;

class Pair {
  readonly #random: SeededRandom;
  readonly #animals = new Map<number, { category: Category; statusIndex: number }>();
  /** How often the index has asked for a status. */
  #asked = 0;
  readonly #index = new CategoryIndex(statusCount, (id) => {
    this.#asked++;
    return this.#animals.get(id)?.statusIndex;
  });

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  has(id: number): boolean {
    return this.#animals.has(id);
  }

  /** Adds at once what is in the model only. */
  async addAll(lastId: number, categoryOfNew: (id: number) => Category | undefined): Promise<void> {
    for (let id = 1; id <= lastId; id++) {
      const category = categoryOfNew(id);
      if (category !== undefined) {
        this.#animals.set(id, { category, statusIndex: this.#random.integer(0, statusCount - 1) });
      }
    }
    const nextId = (from: number): number | undefined => {
      for (let id = from; id <= lastId; id++) {
        if (this.has(id)) {
          return id;
        }
      }
      return undefined;
    };
    await this.#index.addAll(this.#animals.size, nextId, (id) => this.#animals.get(id)?.category ?? assert.fail());
  }

  add(id: number, category: Category): void {
    const statusIndex = this.#random.integer(0, statusCount - 1);
    this.#animals.set(id, { category, statusIndex });
    this.#index.add(category, id, statusIndex);
  }

  delete(id: number): void {
    const { category, statusIndex } = this.#animals.get(id) ?? assert.fail();
    this.#animals.delete(id);
    this.#index.delete(category, id, statusIndex);
  }

  changeStatus(id: number): void {
    const animal = this.#animals.get(id) ?? assert.fail();
    const from = animal.statusIndex;
    animal.statusIndex = this.#random.integer(0, statusCount - 1);
    this.#index.changeStatus(animal.category, id, from, animal.statusIndex);
  }

  check(category: Category, from: number): void {
    const expected = Array<number | undefined>(statusCount + 1).fill(undefined);
    for (const [id, animal] of this.#animals) {
      for (const place of animal.category === category && id >= from ? [statusCount, animal.statusIndex] : []) {
        expected[place] = Math.min(id, expected[place] ?? Infinity);
      }
    }
    const statuses = [0, 1, 2, undefined];
    for (const [place, statusIndex] of statuses.entries()) {
      this.#asked = 0;
      assert.equal(this.#index.next(category, statusIndex, from), expected[place], `category ${category} from ${from}`);
      // It asks nothing of a chunk without an animal of the status, and finds one in any other, but for the first one.
      const askedMax = statusIndex === undefined || (from === 1 && expected[place] === undefined) ? 0 : 1_024;
      assert.ok(this.#asked <= askedMax, `${this.#asked} of category ${category} from ${from}`);
    }
  }

  /** Walks through the whole category by each status, and by none. */
  checkAll(category: Category): void {
    for (const statusIndex of [undefined, 0, 1, 2]) {
      const isOf = ([, animal]: [number, { category: Category; statusIndex: number }]): boolean =>
        animal.category === category && (statusIndex ?? animal.statusIndex) === animal.statusIndex;
      const ids = [...this.#animals].filter(isOf).map(([id]) => id).sort((one, other) => one - other);
      const walked: number[] = [];
      for (let id = this.#index.next(category, statusIndex, 1); id !== undefined; ) {
        walked.push(id);
        id = this.#index.next(category, statusIndex, id + 1);
      }
      assert.deepEqual(walked, ids, `category ${category}, status ${statusIndex}`);
    }
  }
}

test("CategoryIndex.next() is the least id from there on, whatever was added, deleted and changed", seeded(async (random) => {
  for (let round = 0; round < 20; round++) {
    const pair = new Pair(random);
    const categories = [0, -1, 5, "9223372036854775807", "-9223372036854775808"].slice(0, random.integer(1, 5));
    const idMax = random.pick([10, 2_000]);
    if (random.oneIn(2)) {
      await pair.addAll(random.integer(0, idMax), () => (random.oneIn(3) ? undefined : random.pick(categories)));
    }
    for (let step = 0; step < 1_500; step++) {
      const id = random.integer(1, idMax);
      if (!pair.has(id)) {
        pair.add(id, random.pick(categories));
      } else if (random.oneIn(2)) {
        pair.changeStatus(id);
      } else if (random.oneIn(4)) {
        pair.delete(id);
      }
      if (step % 10 === 0) {
        pair.check(random.pick([...categories, 7]), random.integer(1, idMax + 1));
      }
    }
    categories.forEach((category) => pair.checkAll(category));
  }
}));

test("CategoryIndex finds the animals of one category of 3,000, also when most come into its middle", seeded((random) => {
  for (const isShuffled of [false, true]) {
    const pair = new Pair(random);
    for (let id = 1; id < 3_000; id += 2) {
      pair.add(id, 5);
    }
    const between = Array.from({ length: 1_500 }, (_, index) => ({ id: 2 * index + 2, place: isShuffled ? random.uint32() : index }));
    const byPlace = between.sort((one, other) => one.place - other.place).map(({ id }) => id);
    for (const id of [2_048, 1_024, ...byPlace]) { // The first two come between chunks that are full.
      if (!pair.has(id)) {
        pair.add(id, 5);
      }
    }
    pair.checkAll(5);
    for (let id = 1; id <= 3_000; id += random.integer(1, 3)) {
      pair.changeStatus(id);
    }
    pair.checkAll(5);
    for (let id = 500; id < 2_500; id++) {
      pair.delete(id);
    }
    pair.checkAll(5);
    pair.check(5, 1);
    for (let id = 2_499; id >= 500; id--) {
      pair.add(id, 5);
    }
    pair.checkAll(5);
  }
}));

for (const size of [0, 1, 7, 8, 9, 511, 512, 513, 1_023, 1_024, 1_025]) {
  test(`CategoryIndex.addAll() of ${size} animals in a category, beside others, is as adding each of them`, seeded(async (random) => {
    const pair = new Pair(random);
    const others = random.integer(0, 2);
    await pair.addAll(size * (others + 1), (id) => id % (others + 1));
    [0, 1, 2, 3].forEach((category) => pair.checkAll(category));
    for (let id = size * (others + 1) + 1, left = 600; left > 0; left--, id++) {
      pair.add(id, 0);
    }
    for (let id = 1; id < size; id += random.integer(1, 3)) {
      pair.delete(id);
      pair.add(id, random.integer(0, 2));
      pair.changeStatus(id);
    }
    [0, 1, 2, 3].forEach((category) => pair.checkAll(category));
  }));
}

test("of a million animals of a category the only one of a status is found in 5 ms", async () => {
  const [lastId, only] = [1_000_000, 999_999];
  const index = new CategoryIndex(statusCount, (id) => (id === only ? 1 : 0));
  await index.addAll(lastId, (from) => (from > lastId ? undefined : from), () => 5);
  for (const [from, found] of [[1, only], [only, only], [only + 1, undefined]] as const) {
    const start = process.cpuUsage();
    assert.equal(index.next(5, 1, from), found);
    const { user, system } = process.cpuUsage(start);
    assert.ok(user + system < 5_000, `${user + system} us`);
  }
});

for (const order of ["from the last to the first", "in any order"]) {
  test(`the same when a million animals have come into the category one by one, ${order}`, seeded((random) => {
    const [lastId, only] = [1_000_000, 999_999];
    const index = new CategoryIndex(statusCount, (id) => (id === only ? 1 : 0));
    const ids = Uint32Array.from({ length: lastId }, (_, place) => lastId - place);
    for (let place = order === "in any order" ? lastId - 1 : 0; place > 0; place--) {
      const other = random.integer(0, place);
      [ids[place], ids[other]] = [ids[other] ?? 0, ids[place] ?? 0];
    }
    ids.forEach((id) => index.add(5, id, id === only ? 1 : 0));
    const start = process.cpuUsage();
    assert.equal(index.next(5, 1, 1), only);
    const { user, system } = process.cpuUsage(start);
    assert.ok(user + system < 5_000, `${user + system} us`);
  }));
}

test("a category of which the last animal has gone takes no memory", () => {
  const index = new CategoryIndex(statusCount, () => 0);
  const before = heapBytes();
  for (let category = 0; category < 200_000; category++) {
    index.add(category, 1, 0);
    index.delete(category, 1, 0);
  }
  const bytes = heapBytes() - before;
  assert.ok(bytes < 1_000_000, `${bytes} bytes`); // A category with a chunk takes 200 bytes and more.
  assert.equal(index.next(5, undefined, 1), undefined);
});

test("categoryIn() reads from an animal's text the category that categoryOf() makes of its number", () => {
  for (const categoryId of [
    0n, 7n, -7n, 999_999_999_999_999n, -99_999_999_999_999n, 10n ** 15n, -(10n ** 14n), 2n ** 53n, 2n ** 53n + 1n,
    2n ** 63n - 1n, -(2n ** 63n),
  ]) {
    for (const later of ["", ',"price":5', ',"note":"\\",\\"categoryId\\":8,"']) {
      const text = Buffer.from(`{"id":1,"name":"\\",\\"categoryId\\":9","categoryId":${categoryId}${later},"status":"sold"}`);
      const category = categoryIn(viewOf(text), text.lastIndexOf('sold"}'));
      assert.equal(category, categoryOf(categoryId));
      assert.equal(String(category), String(categoryId));
    }
  }
});
