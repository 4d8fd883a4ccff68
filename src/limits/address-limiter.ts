/**
 * Charges failed authentication to the client's address: 60 a minute each, in memory only.
 *
 * An attacker may have any number of addresses, so memory and work are bounded. There are two maps: buckets opened in
 * the current minute, and in the one before. When the minute is over, all buckets of the older map have ended, and it
 * is dropped. No open bucket is ever dropped: when the table is full, new addresses share one bucket.
 */

import type { Clock } from "../base/clock.ts";
import { ownCopy } from "../base/texts.ts";
import { type Bucket, bucketState, closedBucket, isOpen, minuteMs, takeToken } from "./bucket.ts";
import { bucketStatus, secondsUntil } from "./key-limits.ts";
import type { Allowed, RateStatus, Refusal } from "./limiter.ts";
import { Timeline } from "./timeline.ts";

export const failuresPerMinute = 60;

export class AddressLimiter {
  readonly #timeline: Timeline;
  readonly #addressesMax: number;
  readonly #sharedBucket = closedBucket();
  #current = new Map<string, Bucket>();
  #previous = new Map<string, Bucket>();
  #currentEndsMs: number;

  /** @param options with 50,000 addresses, the table has about 10 MiB */
  constructor({ clock, addressesMax = 50_000 }: { readonly clock: Clock; readonly addressesMax?: number }) {
    this.#timeline = new Timeline(clock);
    this.#addressesMax = addressesMax;
    this.#currentEndsMs = this.#timeline.nowMs() + minuteMs;
  }

  /** Buckets in memory, also ended ones. Never more than `addressesMax`. */
  get count(): number {
    return this.#current.size + this.#previous.size;
  }

  /** Charges a failed authentication to the address, as `clientAddress` returns it. */
  take(address: string): Allowed | Refusal {
    const nowMs = this.#turn();
    let bucket = this.#find(address, nowMs);
    if (bucket === undefined) {
      bucket = closedBucket();
      this.#current.set(ownCopy(address), bucket);
    }
    const state = bucketState(bucket, failuresPerMinute, minuteMs, nowMs);
    if (state.left === 0) {
      const retryAfterSeconds = secondsUntil(state.endsMs, nowMs);
      return { kind: "rate_limited", ...bucketStatus(state, this.#timeline), waitsFor: "address", retryAfterSeconds };
    }
    takeToken(bucket, state);
    return { kind: "allowed", ...bucketStatus(state, this.#timeline) };
  }

  peek(address: string): RateStatus {
    const nowMs = this.#turn();
    const bucket = this.#find(address, nowMs) ?? closedBucket();
    return bucketStatus(bucketState(bucket, failuresPerMinute, minuteMs, nowMs), this.#timeline);
  }

  /** Returns the address's open bucket, or the shared one; undefined if there is room for a new one. */
  #find(address: string, nowMs: number): Bucket | undefined {
    const bucket = this.#current.get(address) ?? this.#previous.get(address);
    if (bucket !== undefined && isOpen(bucket, nowMs)) {
      return bucket;
    }
    return this.count < this.#addressesMax ? undefined : this.#sharedBucket;
  }

  /** Returns the time. Starts a new minute if the current one is over. */
  #turn(): number {
    const nowMs = this.#timeline.nowMs();
    if (nowMs >= this.#currentEndsMs) {
      this.#previous = nowMs < this.#currentEndsMs + minuteMs ? this.#current : new Map();
      this.#current = new Map();
      this.#currentEndsMs = nowMs + minuteMs;
    }
    return nowMs;
  }
}
