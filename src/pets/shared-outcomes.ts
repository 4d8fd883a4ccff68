import { type ChangeOutcome, IdempotencyConflictError, type StoredPet } from "./pet-store.ts";

type Outcome = StoredPet | ChangeOutcome;

interface InProgress {
  readonly content: string;
  readonly outcome: Promise<Outcome>;
}

/** The requests with an idempotency hash that are in progress. A repeated one waits for the first. */
export class RequestsInProgress {
  readonly #byHash = new Map<string, InProgress>();

  /**
   * Calls `run`, unless a request with the hash is in progress: then resolves to what that one stored, or rejects as it
   * does. If it stores nothing, this one is decided by itself.
   * @param content the same for equal requests only
   * @throws {IdempotencyConflictError} the hash belongs to another request
   */
  async share<Result extends Outcome>(hash: string, content: string, run: () => Promise<Result>): Promise<Result> {
    for (let first = this.#byHash.get(hash); first !== undefined; first = this.#byHash.get(hash)) {
      const result = await first.outcome.catch(unlessConflict);
      if (result !== undefined && "json" in result) {
        if (first.content !== content) {
          throw new IdempotencyConflictError("the idempotency hash belongs to another request");
        }
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

/** A conflict is about the request that failed: this one may still be equal to the stored one. */
function unlessConflict(error: unknown): undefined {
  if (!(error instanceof IdempotencyConflictError)) {
    throw error;
  }
}
