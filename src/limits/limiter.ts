/**
 * Decides which request of which key is served. Each key has a bucket for the minute, one for the day, and a ban.
 *
 * A request is decided in one synchronous step: a token is taken from both buckets or from none. There is no timer: the
 * next request sees that a bucket or a ban is over. The arithmetic is in bucket.ts and ban.ts; limits-file.ts keeps the
 * limits across restarts.
 */

import type { Clock } from "../disk/clock.ts";
import { type Ban, countRefusal, endStreak, isBanned, liftBan, noBan } from "./ban.ts";
import type { Bucket } from "./bucket.ts";
import { closedBucket, dayMs, emptyUntilMs, fullAgainMs, minuteMs, takeToken, tokensLeft } from "./bucket.ts";
import type { Plan, Quota } from "./plans.ts";
import { Timeline } from "./timeline.ts";

/** What the X-RateLimit fields say. */
export interface RateStatus {
  /** The quota of the bucket that is reported. */
  readonly limit: number;
  /** Tokens left in it; 0 if a request would be refused. */
  readonly remaining: number;
  /**
   * Unix seconds, rounded up: when the bucket is full again; if a request would be refused, the earliest time at which
   * one is served.
   */
  readonly resetSeconds: number;
}

export type Decision =
  | (RateStatus & { readonly kind: "allowed" })
  | (RateStatus & {
      readonly kind: "rate_limited" | "key_banned";
      /** Whole seconds, rounded up, at least 1. */
      readonly retryAfterSeconds: number;
    });

/** The limits of one key. */
export interface KeyLimits {
  readonly minute: Bucket;
  readonly day: Bucket;
  readonly ban: Ban;
}

export class Limiter {
  readonly timeline: Timeline;
  readonly #keys: Map<string, KeyLimits> = new Map();
  #banCount = 0;
  #changeCount = 0;

  constructor(options: { readonly clock: Clock }) {
    this.timeline = new Timeline(options.clock);
  }

  /** Bans set off since the process started. */
  get banCount(): number {
    return this.#banCount;
  }

  /** Grows with each request and unban: a snapshot made at a smaller count is out of date. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Changes while it is iterated over, if requests are decided meanwhile. */
  get keys(): ReadonlyMap<string, Readonly<KeyLimits>> {
    return this.#keys;
  }

  /** Keys banned now. Looks at every key. */
  get bannedKeyCount(): number {
    const nowMs = this.timeline.nowMs();
    let count = 0;
    for (const { ban } of this.#keys.values()) {
      count += isBanned(ban, nowMs) ? 1 : 0;
    }
    return count;
  }

  /** Decides one request of the key, and takes its tokens or counts its refusal. */
  take(keyId: string, plan: Plan): Decision {
    const nowMs = this.timeline.nowMs();
    let limits = this.#keys.get(keyId);
    if (limits === undefined) {
      limits = unusedLimits();
      this.#keys.set(keyId, limits);
    }
    this.#changeCount += 1;
    const minuteLeft = tokensLeft(limits.minute, plan.quota.perMinute, nowMs);
    const dayLeft = tokensLeft(limits.day, plan.quota.perDay, nowMs);
    if (minuteLeft === 0 || dayLeft === 0 || isBanned(limits.ban, nowMs)) {
      return this.#refuse(limits, plan, nowMs);
    }
    takeToken(limits.minute, minuteMs, nowMs);
    takeToken(limits.day, dayMs, nowMs);
    endStreak(limits.ban);
    const { limit, remaining, resetSeconds } = this.#status(limits, plan, nowMs);
    return { kind: "allowed", limit, remaining, resetSeconds };
  }

  /** The status for a response that takes no token and counts no refusal. */
  peek(keyId: string, plan: Plan): RateStatus {
    return this.#status(this.#keys.get(keyId) ?? unusedLimits(), plan, this.timeline.nowMs());
  }

  /** Both buckets of the key. A closed one is full, and its reset is what it would be if it opened now. */
  quotas(keyId: string, { quota }: Plan): { readonly minute: RateStatus; readonly day: RateStatus } {
    const nowMs = this.timeline.nowMs();
    const { minute, day } = this.#keys.get(keyId) ?? unusedLimits();
    const statusOf = (bucket: Bucket, limit: number, windowMs: number): RateStatus => ({
      limit,
      remaining: tokensLeft(bucket, limit, nowMs),
      resetSeconds: this.timeline.unixSeconds(fullAgainMs(bucket, windowMs, nowMs)),
    });
    return { minute: statusOf(minute, quota.perMinute, minuteMs), day: statusOf(day, quota.perDay, dayMs) };
  }

  /** Lifts the key's ban, if it has one. This does not shorten the next ban. */
  unban(keyId: string): void {
    const limits = this.#keys.get(keyId);
    if (limits !== undefined) {
      liftBan(limits.ban, this.timeline.nowMs());
      this.#changeCount += 1;
    }
  }

  /** Forgets a key whose buckets are closed and whose last ban has no effect on the next one. */
  forget(keyId: string): void {
    this.#keys.delete(keyId);
  }

  /** Sets the limits that an earlier process had for the key. */
  restore(keyId: string, limits: KeyLimits): void {
    this.#keys.set(keyId, limits);
  }

  #refuse(limits: KeyLimits, plan: Plan, nowMs: number): Decision {
    if (!isBanned(limits.ban, nowMs) && countRefusal(limits.ban, nowMs)) {
      this.#banCount += 1;
    }
    const { limit, remaining, resetSeconds } = this.#status(limits, plan, nowMs);
    const kind = isBanned(limits.ban, nowMs) ? "key_banned" : "rate_limited";
    // At least 1: it is later than now, and instants are whole milliseconds.
    const retryAfterSeconds = Math.ceil((retryAtMs(limits, plan.quota, nowMs) - nowMs) / 1_000);
    return { kind, limit, remaining, resetSeconds, retryAfterSeconds };
  }

  /** The status of the bucket with fewer tokens left; on a tie, of the one that resets later; if equal, of the day. */
  #status(limits: KeyLimits, { quota }: Plan, nowMs: number): RateStatus {
    const minuteLeft = tokensLeft(limits.minute, quota.perMinute, nowMs);
    const dayLeft = tokensLeft(limits.day, quota.perDay, nowMs);
    const minuteEndsMs = fullAgainMs(limits.minute, minuteMs, nowMs);
    const dayEndsMs = fullAgainMs(limits.day, dayMs, nowMs);
    const isMinute = minuteLeft < dayLeft || (minuteLeft === dayLeft && minuteEndsMs > dayEndsMs);
    const retryMs = retryAtMs(limits, quota, nowMs);
    const isRefused = retryMs > nowMs;
    return {
      limit: isMinute ? quota.perMinute : quota.perDay,
      remaining: isRefused ? 0 : isMinute ? minuteLeft : dayLeft,
      resetSeconds: this.timeline.unixSeconds(isRefused ? retryMs : isMinute ? minuteEndsMs : dayEndsMs),
    };
  }
}

export function unusedLimits(): KeyLimits {
  return { minute: closedBucket(), day: closedBucket(), ban: noBan() };
}

/** The latest end of the empty buckets and of the ban. Not later than now if a request is served now. */
function retryAtMs({ minute, day, ban }: KeyLimits, quota: Quota, nowMs: number): number {
  return Math.max(
    emptyUntilMs(minute, tokensLeft(minute, quota.perMinute, nowMs)),
    emptyUntilMs(day, tokensLeft(day, quota.perDay, nowMs)),
    ban.untilMs,
  );
}
