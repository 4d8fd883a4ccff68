import type { PetStore } from "./pet-store.ts";
import type { NewPet } from "./pet.ts";

/** A group of the log holds this many animals with the longest names, and so does a statement to a database. */
export const batchLength = 500;

export interface Added {
  /** If there is a failure, the first so many were added. */
  readonly addedCount: number;
  /** The others were not added; with `OutcomeUnknownError`, some may have been. */
  readonly failure: Error | undefined;
}

/** Adds the animals in their order, each as durably as a single add. */
export async function addBatch(store: Pick<PetStore, "add">, newPets: readonly NewPet[]): Promise<Added> {
  const outcomes = await Promise.allSettled(newPets.map((newPet) => store.add(newPet)));
  const addedCount = outcomes.findIndex(({ status }) => status === "rejected");
  const first = outcomes[addedCount];
  return first?.status === "rejected"
    ? { addedCount, failure: first.reason as Error }
    : { addedCount: newPets.length, failure: undefined };
}

/**
 * Adds the animals in their order, in large batches. `onProgress` gets the number of animals added. If this rejects,
 * those after them were not added; with `OutcomeUnknownError`, some may have been.
 * @param add adds up to `batchLength` animals
 */
export async function addInBatches(
  add: (newPets: readonly NewPet[]) => Promise<Added>,
  newPets: AsyncIterable<NewPet>,
  onProgress: (addedCount: number) => void,
): Promise<void> {
  let batch: NewPet[] = [];
  let addedCount = 0;
  const finish = async (): Promise<void> => {
    const added = await add(batch);
    addedCount += added.addedCount;
    batch = [];
    onProgress(addedCount);
    if (added.failure !== undefined) {
      throw added.failure;
    }
  };
  for await (const newPet of newPets) {
    batch.push(newPet);
    if (batch.length === batchLength) {
      await finish();
    }
  }
  await finish();
}
