/** What a store does when it is closed, and opened again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";

import { StorageUnavailableError, type StoredPet } from "../../../src/pets/pet-store.ts";
import type { CreatePlace } from "./place.ts";
import { assertPage, everything, idsFrom, manyPets, openStore, rex, textOf } from "./suite-steps.ts";

export function testClosing(name: string, createPlace: CreatePlace): void {
  test(`${name}: isWritable() is true until the store is closed`, async (context) => {
    const store = await openStore(context, createPlace);
    assert.equal(store.isWritable(), true);
    await store.add(rex);
    assert.equal(store.isWritable(), true);
    await store.close();
    assert.equal(store.isWritable(), false);
  });

  test(`${name}: after close(), adding fails, reading works or fails, and nothing waits for ever`, async (context) => {
    const store = await openStore(context, createPlace);
    const { json } = await store.add(rex);
    await store.close();
    await assert.rejects(store.add(rex), StorageUnavailableError);
    assert.equal(textOf(await unlessUnavailable(() => store.get(1), { json, version: 1 })), textOf(json));
    const whole = { json: `[${textOf(json)}]`, nextAfter: undefined };
    assert.equal(textOf((await unlessUnavailable(() => store.list(everything), whole)).json), whole.json);
  });

  test(`${name}: close() may be called twice, at once and later`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex);
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  test(`${name}: close() settles every add: opened again, the store has what was added`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let kept: StoredPet[] = [];
    for (const count of [0, 1, 300]) {
      const store = await place.open();
      const adding = Promise.allSettled(manyPets(count).map((pet) => store.add(pet)));
      let isSettled = false;
      void adding.then(() => (isSettled = true));
      await store.close();
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(isSettled, "close() waits for every add");
      for (const outcome of await adding) {
        if (outcome.status === "fulfilled") {
          kept.push(outcome.value);
        } else {
          assert.ok(outcome.reason instanceof StorageUnavailableError, String(outcome.reason));
        }
      }
      const again = await place.open();
      assert.deepEqual(kept.map(({ id }) => id), idsFrom(1, kept.length));
      await assertPage(again, everything, kept, undefined);
      const next = await again.add(rex);
      assert.equal(next.id, kept.length + 1);
      kept = [...kept, next];
      await again.close();
    }
  });
}

/** Fails if the store answers wrongly. A closed store may refuse to answer. */
async function unlessUnavailable<Answer>(read: () => Answer | Promise<Answer>, expected: Answer): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    assert.ok(error instanceof StorageUnavailableError, String(error));
    return expected;
  }
}
