/**
 * Adds that carry an idempotency hash: each hash adds one animal, however often the add is repeated.
 *
 * While the process runs, 24 hours are measured on the monotonic clock, so that a step of the system clock never adds
 * an animal twice. Lines on disk hold Unix seconds, because only those outlive the process.
 */

import type { Clock } from "../base/clock.ts";
import { viewOf } from "../log/checksum.ts";
import { IdempotencyConflictError, type JsonText, type StoredPet } from "../pets/pet-store.ts";
import { type NewPet, petToJson } from "../pets/pet.ts";
import { idempotencySecondsMax, IdempotencyTable, idempotencyHashCharacters } from "./idempotency-table.ts";

/** The adds under way. A repeated one waits for the first and shares its outcome. */
export class AddsInProgress {
  readonly #adds = new Map<string, Promise<StoredPet>>();

  /**
   * Calls `add`, unless an add with the hash is under way.
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
 * The result of a repeated add.
 * @param json the stored animal
 * @throws {IdempotencyConflictError} it is another animal
 */
export function replay(id: number, json: JsonText | undefined, newPet: NewPet): StoredPet {
  if (json !== petToJson({ id, ...newPet })) {
    throw new IdempotencyConflictError("the idempotency hash belongs to another animal");
  }
  return { id, json, isReplay: true };
}

export class IdempotentAdds {
  readonly #clock: Clock;
  readonly #table: IdempotencyTable;
  readonly #inProgress = new AddsInProgress();
  readonly #text = Buffer.alloc(idempotencyHashCharacters);
  readonly #textView = viewOf(this.#text);
  /** When this object was made, on both clocks. */
  readonly #openedWallSeconds: number;
  readonly #openedSeconds: number;

  /** @param seed of the table */
  constructor(clock: Clock, seed: Uint8Array) {
    this.#clock = clock;
    this.#table = new IdempotencyTable(seed);
    this.#openedWallSeconds = this.wallSeconds;
    this.#openedSeconds = this.#nowSeconds();
  }

  /** The `at` of a line that is written now: Unix seconds, which are not negative on any line. */
  get wallSeconds(): number {
    return Math.max(0, Math.floor(this.#clock.wallMs() / 1_000));
  }

  /**
   * Adds the animal by `store`, or returns the one that an earlier add with the hash stored, whose text is `textOf`.
   * @throws {IdempotencyConflictError}
   */
  add(
    newPet: NewPet,
    idempotencyHash: string,
    store: () => Promise<StoredPet>,
    textOf: (id: number) => string | undefined,
  ): Promise<StoredPet> {
    return this.#inProgress.share(newPet, idempotencyHash, async () => {
      const earlierId = this.#find(idempotencyHash);
      return earlierId === undefined ? store() : replay(earlierId, textOf(earlierId), newPet);
    });
  }

  /** Remembers the hash, in `bytes` at `start`, of an animal that is on disk. */
  remember(bytes: DataView, start: number, petId: number): void {
    this.#table.add(bytes, start, petId, this.#nowSeconds());
  }

  /**
   * Remembers the hash of a line that an earlier process wrote at `atSeconds` of the wall clock. If that has been set
   * back since, the line counts as written when this object was made.
   */
  rememberSince(bytes: DataView, start: number, petId: number, atSeconds: number): void {
    const ageSeconds = Math.max(0, this.#openedWallSeconds - atSeconds);
    if (ageSeconds < idempotencySecondsMax) {
      this.#table.add(bytes, start, petId, this.#openedSeconds - ageSeconds);
    }
  }

  #find(idempotencyHash: string): number | undefined {
    this.#text.write(idempotencyHash, "latin1");
    return this.#table.find(this.#textView, 0, this.#nowSeconds());
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.monotonicMs() / 1_000);
  }
}
