/** What every store has to do (`PetStore`), be it on files or in PostgreSQL, but for what a crash may do to it. */

import type { CreatePlace } from "./place.ts";
import { testAdding, testRepeatedAdding } from "./suite-adding.ts";
import { testChanging, testKeepingChanges, testReadingWhileChanging } from "./suite-changing.ts";
import { testClosing } from "./suite-closing.ts";
import { testCategories, testReading, testReadingWhileAdding } from "./suite-reading.ts";
import { testConditionalRemoving, testRemovedReplays, testRemoving } from "./suite-removing.ts";
import { testRepeatedChanging, testSharedHashes } from "./suite-repeating.ts";
import { testCorrecting, testVersions } from "./suite-versions.ts";

export type { CreatePlace, StorePlace } from "./place.ts";

export function testPetStore(name: string, createPlace: CreatePlace): void {
  testAdding(name, createPlace);
  testRepeatedAdding(name, createPlace);
  testReading(name, createPlace);
  testReadingWhileAdding(name, createPlace);
  testCategories(name, createPlace);
  testClosing(name, createPlace);
  testChanging(name, createPlace);
  testKeepingChanges(name, createPlace);
  testReadingWhileChanging(name, createPlace);
  testRepeatedChanging(name, createPlace);
  testSharedHashes(name, createPlace);
  testRemoving(name, createPlace);
  testConditionalRemoving(name, createPlace);
  testRemovedReplays(name, createPlace);
  testVersions(name, createPlace);
  testCorrecting(name, createPlace);
}
