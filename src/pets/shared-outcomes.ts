/**
 * Lets the calls of a store that have the same idempotency hash share one outcome, within this process: the second
 * waits for the first. So no store ever has two of them in progress.
 */

import {
  type ChangeOutcome, IdempotencyConflictError, type PetStore, type RemovalOutcome, type StoredPet,
} from "./pet-store.ts";
import { type PetChange, petToJson } from "./pet.ts";

type Outcome = StoredPet | ChangeOutcome | RemovalOutcome;

interface InProgress {
  readonly content: string;
  readonly outcome: Promise<Outcome>;
}

/** Returns a store over the given one. Calls with a hash must go through it. */
export function shareOutcomes(store: PetStore): PetStore {
  const inProgress = new RequestsInProgress();
  return {
    add: (newPet, hash) =>
      hash === undefined
        ? store.add(newPet)
        : inProgress.share(hash, petToJson({ id: 0, ...newPet }), () => store.add(newPet, hash)),
    change: (id, change, allowed, hash) =>
      hash === undefined
        ? store.change(id, change, allowed)
        : inProgress.share(hash, contentOf(id, change), () => store.change(id, change, allowed, hash)),
    remove: (id, allowed, hash) =>
      hash === undefined
        ? store.remove(id, allowed)
        : inProgress.share(hash, `${id} removed`, () => store.remove(id, allowed, hash)),
    get: (id) => store.get(id),
    list: (query) => store.list(query),
    isWritable: () => store.isWritable(),
    close: () => store.close(),
  };
}

class RequestsInProgress {
  readonly #byHash = new Map<string, InProgress>();

  /**
   * Calls `run`, unless an equal request with the hash is in progress: then resolves to what that one stored, or
   * rejects as it does. If it stores nothing, or is another request, `run` is called when it has ended: the store
   * decides.
   * @param content the same for equal requests only
   */
  async share<Result extends Outcome>(hash: string, content: string, run: () => Promise<Result>): Promise<Result> {
    for (let first = this.#byHash.get(hash); first !== undefined; first = this.#byHash.get(hash)) {
      const result = await first.outcome.catch(unlessConflict);
      if (result !== undefined && isStored(result) && first.content === content) {
        return { ...result, isReplay: true } as Result; // Equal requests have results of one type.
      }
    }
    const outcome = run();
    this.#byHash.set(hash, { content, outcome });
    try {
      return await outcome;
    } finally {
      this.#byHash.delete(hash);
    }
  }
}

function contentOf(id: number, change: PetChange): string {
  return `${id} ${JSON.stringify(change, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))}`;
}

function isStored(outcome: Outcome): boolean {
  return !("kind" in outcome) || outcome.kind === "changed" || outcome.kind === "removed";
}

/** A conflict is about the request that failed: this one may still be equal to the stored one. */
function unlessConflict(error: unknown): undefined {
  if (!(error instanceof IdempotencyConflictError)) {
    throw error;
  }
}
