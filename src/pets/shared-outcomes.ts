/**
 * Lets the calls of a store that have the same idempotency hash share one outcome, within this process: the second
 * waits for the first. So no store ever has two of them in progress.
 */

import {
  type ChangeOutcome, IdempotencyConflictError, type PetStore, type RemovalOutcome, type StoredPet,
} from "./pet-store.ts";
import { type PetChange, petToJson } from "./pet.ts";

/** A hash begins with one of as many characters. */
const listCount = 64;

type Outcome = StoredPet | ChangeOutcome | RemovalOutcome;

interface InProgress {
  readonly hash: string;
  /** The same for equal requests only. Hardly any request is sent twice at a time, so it is made for those only. */
  readonly contentOf: () => string;
  readonly outcome: Promise<Outcome>;
}

/** Returns a store over the given one. Calls with a hash must go through it. */
export function shareOutcomes(store: PetStore): PetStore {
  const inProgress = new RequestsInProgress();
  return {
    add: (newPet, hash) =>
      hash === undefined
        ? store.add(newPet)
        : inProgress.share(hash, () => petToJson({ id: 0, ...newPet }), () => store.add(newPet, hash)),
    change: (id, change, allowed, hash) =>
      hash === undefined
        ? store.change(id, change, allowed)
        : inProgress.share(hash, () => contentOf(id, change), () => store.change(id, change, allowed, hash)),
    remove: (id, allowed, hash) =>
      hash === undefined
        ? store.remove(id, allowed)
        : inProgress.share(hash, () => `${id} removed`, () => store.remove(id, allowed, hash)),
    get: (id) => store.get(id),
    list: (query) => store.list(query),
    isWritable: () => store.isWritable(),
    close: () => store.close(),
  };
}

/**
 * A hash table of short lists. A Map whose entries come and go moves them to ever new tables, and each old table holds
 * the next one: until a full collection nothing of the requests would be freed, which took 4 % of a create's time.
 */
class RequestsInProgress {
  readonly #lists = Array.from({ length: listCount }, (): InProgress[] => []);

  /**
   * Calls `run`, unless an equal request with the hash is in progress: then resolves to what that one stored, or
   * rejects as it does. If it stores nothing, or is another request, `run` is called when it has ended: the store
   * decides.
   */
  share<Result extends Outcome>(
    hash: string,
    contentOf: InProgress["contentOf"],
    run: () => Promise<Result>,
  ): Promise<Result> {
    const list = this.#lists[hash.charCodeAt(0) % listCount]!; // The index is within the array.
    const first = list.find((other) => other.hash === hash);
    if (first !== undefined) {
      return this.#follow(first, () => this.share(hash, contentOf, run), contentOf);
    }
    const outcome = run();
    const request = { hash, contentOf, outcome };
    list.push(request);
    const forget = (): void => void list.splice(list.indexOf(request), 1);
    outcome.then(forget, forget);
    return outcome;
  }

  async #follow<Result extends Outcome>(
    first: InProgress,
    again: () => Promise<Result>,
    contentOf: InProgress["contentOf"],
  ): Promise<Result> {
    const result = await first.outcome.catch(unlessConflict);
    const isEqual = result !== undefined && isStored(result) && first.contentOf() === contentOf();
    return isEqual ? ({ ...result, isReplay: true } as Result) : again(); // Equal requests have results of one type.
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
