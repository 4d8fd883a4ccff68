/**
 * Which request an idempotency hash stands for, and how old it is. While the process runs, the age is measured on the
 * monotonic clock, so that a step of the system clock never adds an animal twice. Lines on disk hold Unix seconds,
 * because only those outlive the process. How hashes are stored and found is in idempotency-table.ts.
 */

import { viewOf } from "../base/checksum.ts";
import type { Clock } from "../base/clock.ts";
import {
  idempotencyHashCharacters, idempotencySecondsMax, IdempotencyTable, type StoredRequest,
} from "./idempotency-table.ts";

export class IdempotencyHashes {
  readonly #clock: Clock;
  readonly #table: IdempotencyTable;
  readonly #text = Buffer.alloc(idempotencyHashCharacters);
  readonly #textView = viewOf(this.#text);
  /** When this object was made, on both clocks. */
  readonly #openedWallSeconds: number;
  readonly #openedSeconds: number;

  /** @param seed as `IdempotencyTable` takes it */
  constructor(clock: Clock, seed: Uint8Array) {
    this.#clock = clock;
    this.#table = new IdempotencyTable(seed);
    this.#openedWallSeconds = this.wallSeconds;
    this.#openedSeconds = this.nowSeconds;
  }

  /** The `at` of a line that is written now: Unix seconds, which are not negative on any line. */
  get wallSeconds(): number {
    return Math.max(0, Math.floor(this.#clock.wallMs() / 1_000));
  }

  /** The request that carried the hash, if it was stored within the last `idempotencyHours`. */
  find(idempotencyHash: string): StoredRequest | undefined {
    this.#text.write(idempotencyHash, "latin1");
    return this.#table.find(this.#textView, 0, this.nowSeconds);
  }

  /** Remembers the hash, in `bytes` at `start`, of a request that is on disk. */
  remember(bytes: DataView, start: number, request: StoredRequest): void {
    this.#table.add(bytes, start, request, this.nowSeconds);
  }

  /** Remembers the hash of a line that an earlier process wrote at `atSeconds` of the wall clock. */
  rememberSince(bytes: DataView, start: number, request: StoredRequest, atSeconds: number): void {
    const seconds = this.secondsOf(atSeconds);
    if (this.#openedSeconds - seconds < idempotencySecondsMax) {
      this.#table.add(bytes, start, request, seconds);
    }
  }

  /**
   * When an earlier process wrote a line, on the clock of `nowSeconds`. If the wall clock has been set back since, it
   * counts as written when this object was made.
   * @param wallSeconds the line's `at`
   */
  secondsOf(wallSeconds: number): number {
    return this.#openedSeconds - Math.max(0, this.#openedWallSeconds - wallSeconds);
  }

  /** Seconds of the monotonic clock. */
  get nowSeconds(): number {
    return Math.floor(this.#clock.monotonicMs() / 1_000);
  }
}
