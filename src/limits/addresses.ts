/**
 * Failed authentication, charged to the client's address: one minute bucket each, in memory only (contract, section 5).
 *
 * Addresses cost a stranger nothing, so the table must be bounded in memory and in work. It is two maps: buckets opened
 * in the minute under way, and in the one before. When a minute is over the older map is dropped whole: every bucket in
 * it has ended by then, since none outlives the minute after the one in which it opened. So nothing is ever scanned.
 * (One map emptied from its front would do in theory; V8 leaves a hole for each entry deleted and walks over the holes:
 * measured under a steady flood, 32 µs an address against 0.3 µs.)
 *
 * Nothing that is live is ever thrown out. When the table is full, addresses that are not in it share one bucket: a
 * flood may lock out strangers without a valid key, and wins itself no fresh quota.
 */

import type { Clock } from "../disk/clock.ts";
import { closedBucket, fullAgainMs, isOpen, minuteMs, takeToken, tokensLeft } from "./bucket.ts";
import type { Bucket } from "./bucket.ts";
import type { Decision, RateStatus } from "./limiter.ts";
import { Timeline } from "./timeline.ts";

export const failuresPerMinute = 60;
/** About 10 MiB when full: 207 bytes an address, measured. */
export const addressesMax = 50_000;

export class Addresses {
  readonly #timeline: Timeline;
  readonly #addressesMax: number;
  readonly #sharedBucket: Bucket = closedBucket();
  #current: Map<string, Bucket> = new Map();
  #previous: Map<string, Bucket> = new Map();
  #currentEndsMs: number;

  /** @throws {RangeError} when `addressesMax` is not an integer of at least 1 */
  constructor(options: { readonly clock: Clock; readonly addressesMax?: number }) {
    this.#addressesMax = options.addressesMax ?? addressesMax;
    if (!Number.isInteger(this.#addressesMax) || this.#addressesMax < 1) {
      throw new RangeError(
        `Cannot create Addresses: addressesMax must be an integer >= 1, received ${this.#addressesMax}`,
      );
    }
    this.#timeline = new Timeline(options.clock);
    this.#currentEndsMs = this.#timeline.nowMs() + minuteMs;
  }

  /** Buckets held, those included that have ended and were not dropped yet. Never more than `addressesMax`. */
  get count(): number {
    return this.#current.size + this.#previous.size;
  }

  /** Charges a failed authentication to the address, which is in the form that `clientAddress` gives. */
  take(address: string): Decision {
    const nowMs = this.#timeline.nowMs();
    this.#turn(nowMs);
    let bucket = this.#find(address, nowMs);
    if (bucket === undefined) {
      bucket = closedBucket();
      this.#current.set(address, bucket);
    }
    if (tokensLeft(bucket, failuresPerMinute, nowMs) === 0) {
      const { limit, remaining, resetSeconds } = this.#status(bucket, nowMs);
      const retryAfterSeconds = Math.ceil((bucket.endsMs - nowMs) / 1_000);
      return { kind: "rate_limited", limit, remaining, resetSeconds, retryAfterSeconds };
    }
    takeToken(bucket, minuteMs, nowMs);
    const { limit, remaining, resetSeconds } = this.#status(bucket, nowMs);
    return { kind: "allowed", limit, remaining, resetSeconds };
  }

  /** The status for a response that takes no token. */
  peek(address: string): RateStatus {
    const nowMs = this.#timeline.nowMs();
    this.#turn(nowMs);
    return this.#status(this.#find(address, nowMs) ?? closedBucket(), nowMs);
  }

  /** The address's open bucket, or the one that it has to share; undefined where it may open one of its own. */
  #find(address: string, nowMs: number): Bucket | undefined {
    const bucket = this.#current.get(address) ?? this.#previous.get(address);
    if (bucket !== undefined && isOpen(bucket, nowMs)) {
      return bucket;
    }
    return this.count < this.#addressesMax ? undefined : this.#sharedBucket;
  }

  /** Starts a new minute where the one under way is over. */
  #turn(nowMs: number): void {
    if (nowMs < this.#currentEndsMs) {
      return;
    }
    this.#previous = nowMs < this.#currentEndsMs + minuteMs ? this.#current : new Map();
    this.#current = new Map();
    this.#currentEndsMs = nowMs + minuteMs;
  }

  #status(bucket: Bucket, nowMs: number): RateStatus {
    return {
      limit: failuresPerMinute,
      remaining: tokensLeft(bucket, failuresPerMinute, nowMs),
      resetSeconds: this.#timeline.unixSeconds(fullAgainMs(bucket, minuteMs, nowMs)),
    };
  }
}
