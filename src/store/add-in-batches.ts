/**
 * Adds many animals to a log in large groups, each as durable as a single add.
 */

import { groupBytesMax } from "../log/group-writer.ts";
import { nameCodePointsMax, type NewPet } from "../pets/pet.ts";
import type { JsonLinesPetStore } from "./json-lines-pet-store.ts";
import { petLineBytesMax } from "./pet-line.ts";

/** A batch has at most this many animals, and at most the bytes of a group. */
const batchLength = 2_000;
const batchBytesMax = groupBytesMax - petLineBytesMax;
const lineBytesBesideName = petLineBytesMax - nameCodePointsMax * 6;

/**
 * Adds the animals in their order. `onProgress` gets the number of animals on disk, counted from the first. If this
 * rejects, the animals after those were not added; with `OutcomeUnknownError`, some of them may have been.
 */
export async function addInBatches(
  store: JsonLinesPetStore,
  newPets: AsyncIterable<NewPet>,
  onProgress: (addedCount: number) => void,
): Promise<void> {
  let batch: NewPet[] = [];
  let batchBytes = 0;
  let addedCount = 0;
  const finish = async (): Promise<void> => {
    // Added at once, so they are in one group, which is added as a whole or not at all.
    await Promise.all(batch.map((newPet) => store.add(newPet)));
    addedCount += batch.length;
    batch = [];
    batchBytes = 0;
    onProgress(addedCount);
  };
  for await (const newPet of newPets) {
    const lineBytes = newPet.name.length * 6 + lineBytesBesideName;
    if (batch.length === batchLength || batchBytes + lineBytes > batchBytesMax) {
      await finish();
    }
    batch.push(newPet);
    batchBytes += lineBytes;
  }
  if (batch.length > 0) {
    await finish();
  }
}
