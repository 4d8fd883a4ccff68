/**
 * `animal-store/testing`: what every store has to do (`PetStore`), as tests of `node:test` for any store, be it on
 * files, in PostgreSQL or an embedder's; and an example of a store. What a crash may do to a store is not tested here.
 * It imports only what the library exports.
 */

import type { CreatePlace } from "./place.ts";
import { testAdding, testRepeatedAdding } from "./suite-adding.ts";
import { testChanging, testKeepingChanges, testReadingWhileChanging } from "./suite-changing.ts";
import { testClosing } from "./suite-closing.ts";
import { testReading, testReadingWhileAdding } from "./suite-reading.ts";
import { testConditionalRemoving, testRemovedReplays, testRemoving } from "./suite-removing.ts";
import { testRepeatedChanging, testSharedHashes } from "./suite-repeating.ts";

export { ExampleEngine, ExampleStore } from "./example-store.ts";
export type { CreatePlace, StorePlace } from "./place.ts";

/**
 * Defines the tests of all methods but `changeStatus` and `remove`. A failure of a random one names the `SEED` that
 * replays it.
 */
export function testPetStore(name: string, createPlace: CreatePlace): void {
  testAdding(name, createPlace);
  testRepeatedAdding(name, createPlace);
  testReading(name, createPlace);
  testReadingWhileAdding(name, createPlace);
  testClosing(name, createPlace);
}

/** Defines the tests of `changeStatus`, which a store need not have. */
export function testStatusChanges(name: string, createPlace: CreatePlace): void {
  testChanging(name, createPlace);
  testKeepingChanges(name, createPlace);
  testReadingWhileChanging(name, createPlace);
  testRepeatedChanging(name, createPlace);
  testSharedHashes(name, createPlace);
}

/** Defines the tests of `remove`, for a store that has `changeStatus` too. */
export function testRemovals(name: string, createPlace: CreatePlace): void {
  testRemoving(name, createPlace);
  testConditionalRemoving(name, createPlace);
  testRemovedReplays(name, createPlace);
}
