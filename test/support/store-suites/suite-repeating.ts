/** What a store with changes of animals does with the hashes of changes, and of adds before them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { IdempotencyConflictError } from "../../../src/pets/pet-store.ts";
import { petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import {
  addAll, assertChanged, changeStatus, everyPage, free, hashOf, openStore, reserve, rex, statuses, textOf, toSold,
  walk,
} from "./suite-steps.ts";

export function testRepeatedChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a change repeated with its hash is its first result, whatever has happened since`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let store = await place.open();
    await addAll(store, [rex, rex]);
    const pending = petToJson({ ...rex, id: 1, status: "pending" });
    assertChanged(await changeStatus(store, 1, reserve, hashOf(1)), pending);
    for (const change of [undefined, toSold, free, toSold, undefined]) {
      if (change === undefined) {
        await store.close();
        store = await place.open();
      } else {
        await changeStatus(store, 1, change);
      }
      const before = textOf(await store.get(1));
      for (const from of [["available"], [], statuses] as const) {
        const repeated = await changeStatus(store, 1, { status: "pending", from }, hashOf(1));
        assertChanged(repeated, pending, true);
      }
      assert.equal(textOf(await store.get(1)), before);
    }
    await store.close();
  });
}

export function testSharedHashes(name: string, createPlace: CreatePlace): void {
  test(`${name}: a hash of another add or change throws, and nothing is stored`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    await store.add(rex);
    await changeStatus(store, 1, reserve, hashOf(2));
    const before = await walk(store, everyPage);
    await assert.rejects(changeStatus(store, 1, toSold, hashOf(1)), IdempotencyConflictError);
    await assert.rejects(changeStatus(store, 1, free, hashOf(1)), IdempotencyConflictError);
    await assert.rejects(changeStatus(store, 1, toSold, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(changeStatus(store, 2, { ...reserve, from: [] }, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(store.add({ ...rex, status: "pending" }, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(store.add(rex, hashOf(2)), IdempotencyConflictError);
    assert.deepEqual(await walk(store, everyPage), before);
  });

  test(`${name}: a change that was refused is not remembered: its hash is free`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add({ ...rex, status: "sold" });
    assert.deepEqual(await changeStatus(store, 1, reserve, hashOf(1)), { kind: "mismatch", status: "sold", version: 1 });
    await changeStatus(store, 1, free);
    const changed = await changeStatus(store, 1, reserve, hashOf(1));
    assertChanged(changed, petToJson({ ...rex, id: 1, status: "pending" }));
  });
}
