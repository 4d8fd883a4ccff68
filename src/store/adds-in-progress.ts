/**
 * The adds under way that carry an idempotency hash. A repeated one waits for the first and shares its outcome.
 */

import { IdempotencyConflictError, type JsonText, type StoredPet } from "../pets/pet-store.ts";
import { type NewPet, newPetToJson } from "../pets/pet.ts";

export class AddsInProgress {
  readonly #adds = new Map<string, Promise<StoredPet>>();

  /**
   * Calls `add`, unless an add with the hash is under way.
   *
   * @throws {IdempotencyConflictError} the hash belongs to another animal
   */
  async share(newPet: NewPet, idempotencyHash: string, add: () => Promise<StoredPet>): Promise<StoredPet> {
    const inProgress = this.#adds.get(idempotencyHash);
    if (inProgress !== undefined) {
      const stored = await inProgress.catch(unlessConflict);
      return stored === undefined ? this.share(newPet, idempotencyHash, add) : replay(stored.id, stored.json, newPet);
    }
    const adding = add();
    this.#adds.set(idempotencyHash, adding);
    try {
      return await adding;
    } finally {
      this.#adds.delete(idempotencyHash);
    }
  }
}

/** A conflict is about the animal of the add that failed: this one may still be equal to the stored one. */
function unlessConflict(error: unknown): undefined {
  if (!(error instanceof IdempotencyConflictError)) {
    throw error;
  }
}

/**
 * The result of an add that was repeated.
 *
 * @param json the animal that is stored
 * @throws {IdempotencyConflictError} it is another animal
 */
export function replay(id: number, json: JsonText | undefined, newPet: NewPet): StoredPet {
  if (json !== newPetToJson(id, newPet)) {
    throw new IdempotencyConflictError("the idempotency hash belongs to another animal");
  }
  return { id, json, isReplay: true };
}
