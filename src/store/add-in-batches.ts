import type { PetStore } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";

/** A group of the log holds this many animals with the longest names, and so does a statement to a database. */
export const batchLength = 500;

/**
 * Adds the animals in their order, in large batches, each as durable as a single add. `onProgress` gets the number of
 * animals added. If this rejects, those after them were not added; with `OutcomeUnknownError`, some may have been.
 * @param store stores up to `batchLength` simultaneous adds all together or not at all
 */
export async function addInBatches(
  store: Pick<PetStore, "add">,
  newPets: AsyncIterable<NewPet>,
  onProgress: (addedCount: number) => void,
): Promise<void> {
  let batch: NewPet[] = [];
  let addedCount = 0;
  const finish = async (): Promise<void> => {
    await Promise.all(batch.map((newPet) => store.add(newPet)));
    addedCount += batch.length;
    batch = [];
    onProgress(addedCount);
  };
  for await (const newPet of newPets) {
    batch.push(newPet);
    if (batch.length === batchLength) {
      await finish();
    }
  }
  await finish();
}
