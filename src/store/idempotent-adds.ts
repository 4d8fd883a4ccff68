/**
 * Adds that carry an idempotency hash: each hash adds one animal, however often the add is repeated.
 *
 * A hash is remembered once its animal is on disk, in the same step that shows the animal to readers. Until then the
 * add is in progress, and a repeated one waits for it and shares its outcome. A failed add is not remembered.
 *
 * While the process runs, 24 hours are measured on the monotonic clock, so that a step of the system clock never adds
 * an animal twice. Lines on disk hold Unix seconds, because only those outlive the process.
 */

import type { Clock } from "../base/clock.ts";
import { viewOf } from "../log/checksum.ts";
import type { StoredPet } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import { AddsInProgress, replay } from "./adds-in-progress.ts";
import { idempotencySecondsMax, IdempotencyTable, idempotencyHashCharacters } from "./idempotency-table.ts";

export class IdempotentAdds {
  readonly #clock: Clock;
  readonly #table = new IdempotencyTable();
  readonly #inProgress = new AddsInProgress();
  readonly #text = Buffer.alloc(idempotencyHashCharacters);
  readonly #textView = viewOf(this.#text);
  /** When this object was made, on both clocks. Reading them for each line that is read took 20 % of a start. */
  readonly #openedWallSeconds: number;
  readonly #openedSeconds: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#openedWallSeconds = this.wallSeconds;
    this.#openedSeconds = this.#nowSeconds();
  }

  /** The `at` of a line that is written now: Unix seconds, which are not negative on any line. */
  get wallSeconds(): number {
    return Math.max(0, Math.floor(this.#clock.wallMs() / 1_000));
  }

  /**
   * Adds the animal by `store`, or returns the one that an earlier add with the hash stored.
   *
   * @param textOf the stored text of an animal
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

  /** Remembers the hash of an animal that is on disk; the hash's characters are in `bytes` at `start`. */
  remember(bytes: DataView, start: number, petId: number): void {
    this.#table.add(bytes, start, petId, this.#nowSeconds());
  }

  /**
   * Remembers the hash of a line that was written by an earlier process at `atSeconds` of the wall clock. If the clock
   * has been set back since, the line counts as written when this object was made.
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
