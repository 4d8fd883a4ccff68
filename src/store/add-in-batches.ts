/**
 * Adds many animals to a store in large batches, each as durable as a single add.
 */

import { groupBytesMax } from "../log/group-writer.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { nameCodePointsMax, type NewPet } from "../pets/pet.ts";
import { petLineBytesMax } from "./pet-line.ts";

/** A batch has at most the bytes of a group. */
const batchBytesMax = groupBytesMax - petLineBytesMax;
const lineBytesBesideName = petLineBytesMax - nameCodePointsMax * 6;

/**
 * Adds the animals in their order. `onProgress` gets the number of animals added, counted from the first. If this
 * rejects, the animals after those were not added; with `OutcomeUnknownError`, some of them may have been.
 *
 * @param batchLength at most this many animals are a batch, which the store must add as a whole or not at all
 */
export async function addInBatches(
  store: Pick<PetStore, "add">,
  newPets: AsyncIterable<NewPet>,
  onProgress: (addedCount: number) => void,
  batchLength = 2_000,
): Promise<void> {
  let batch: NewPet[] = [];
  let batchBytes = 0;
  let addedCount = 0;
  const finish = async (): Promise<void> => {
    // Added at once, so they are in one group.
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
  await finish();
}
