import { messageOf } from "../base/error-message.ts";
import { membersBytesMax } from "./members.ts";
import { OutcomeUnknownError, type PetStore } from "./pet-store.ts";
import type { NewPet } from "./pet.ts";

/** A group of the log holds this many of the longest animals, and so does a statement to a database. */
export const batchLength = Math.min(500, Math.floor(1_000_000 / (membersBytesMax + 180)));

export interface Added {
  /** How many animals were added: the first ones, all if there is no failure. */
  readonly addedCount: number;
  /** Why the others were not added; with `OutcomeUnknownError`, some may have been. */
  readonly failure: Error | undefined;
}

/** Adds the animals in their order, each as durably as a single add. */
export async function addBatch(store: Pick<PetStore, "add">, newPets: readonly NewPet[]): Promise<Added> {
  const outcomes = await Promise.allSettled(newPets.map((newPet) => store.add(newPet)));
  const addedCount = outcomes.findIndex(({ status }) => status === "rejected");
  const first = outcomes[addedCount];
  if (first?.status !== "rejected") {
    return { addedCount: newPets.length, failure: undefined };
  }
  // A batch may be written in two groups, of which only the first one fails.
  const isAbsent = outcomes.slice(addedCount).every((outcome) => {
    return outcome.status === "rejected" && !(outcome.reason instanceof OutcomeUnknownError);
  });
  const reason = first.reason as Error;
  const { cause } = reason;
  return { addedCount, failure: isAbsent ? reason : new OutcomeUnknownError(messageOf(reason), { cause }) };
}
