/**
 * Charges failed authentication to the client's address: 60 a minute each, in memory only.
 *
 * An attacker may have any number of addresses, so memory and work must be bounded. There are two maps: buckets opened
 * in the current minute, and in the one before. When the minute is over, the older map is dropped as a whole: all its
 * buckets have ended, because none lasts longer than the minute after the one in which it opened. So nothing is ever
 * scanned.
 *
 * No open bucket is ever dropped. When the table is full, new addresses share one bucket: a flood may lock out clients
 * without a valid key, but gains no quota by it.
 */

import type { Clock } from "../base/clock.ts";
import { type Bucket, type BucketState, bucketState, closedBucket, isOpen, minuteMs, takeToken } from "./bucket.ts";
import type { Allowed, RateStatus, Refusal } from "./limiter.ts";
import { Timeline } from "./timeline.ts";

export const failuresPerMinute = 60;
/** About 10 MiB when full: 207 bytes an address, measured. */
const addressesMax = 50_000;

export class AddressLimiter {
  readonly #timeline: Timeline;
  readonly #addressesMax: number;
  readonly #sharedBucket: Bucket = closedBucket();
  #current: Map<string, Bucket> = new Map();
  #previous: Map<string, Bucket> = new Map();
  #currentEndsMs: number;

  /** @throws {RangeError} if `addressesMax` is not an integer of at least 1 */
  constructor(options: { readonly clock: Clock; readonly addressesMax?: number }) {
    this.#addressesMax = options.addressesMax ?? addressesMax;
    if (!Number.isInteger(this.#addressesMax) || this.#addressesMax < 1) {
      throw new RangeError(
        `Cannot create AddressLimiter: addressesMax must be an integer >= 1, received ${this.#addressesMax}`,
      );
    }
    this.#timeline = new Timeline(options.clock);
    this.#currentEndsMs = this.#timeline.nowMs() + minuteMs;
  }

  /** Buckets in memory, also those that have ended but are not dropped yet. Never more than `addressesMax`. */
  get count(): number {
    return this.#current.size + this.#previous.size;
  }

  /** Charges a failed authentication to the address, as `clientAddress` returns it. */
  take(address: string): Allowed | Refusal {
    const nowMs = this.#timeline.nowMs();
    this.#turn(nowMs);
    let bucket = this.#find(address, nowMs);
    if (bucket === undefined) {
      bucket = closedBucket();
      this.#current.set(address, bucket);
    }
    const state = bucketState(bucket, failuresPerMinute, minuteMs, nowMs);
    if (state.left === 0) {
      const retryAfterSeconds = Math.ceil((state.endsMs - nowMs) / 1_000);
      return { kind: "rate_limited", ...this.#status(state), retryAfterSeconds };
    }
    takeToken(bucket, state);
    return { kind: "allowed", ...this.#status(state) };
  }

  /** The status for a response that takes no token. */
  peek(address: string): RateStatus {
    const nowMs = this.#timeline.nowMs();
    this.#turn(nowMs);
    const bucket = this.#find(address, nowMs) ?? closedBucket();
    return this.#status(bucketState(bucket, failuresPerMinute, minuteMs, nowMs));
  }

  /** Returns the address's open bucket, or the shared one; undefined if there is room for a new one. */
  #find(address: string, nowMs: number): Bucket | undefined {
    const bucket = this.#current.get(address) ?? this.#previous.get(address);
    if (bucket !== undefined && isOpen(bucket, nowMs)) {
      return bucket;
    }
    return this.count < this.#addressesMax ? undefined : this.#sharedBucket;
  }

  /** Starts a new minute if the current one is over. */
  #turn(nowMs: number): void {
    if (nowMs < this.#currentEndsMs) {
      return;
    }
    this.#previous = nowMs < this.#currentEndsMs + minuteMs ? this.#current : new Map();
    this.#current = new Map();
    this.#currentEndsMs = nowMs + minuteMs;
  }

  #status({ limit, left, endsMs }: BucketState): RateStatus {
    return { limit, remaining: left, resetSeconds: this.#timeline.unixSeconds(endsMs) };
  }
}
