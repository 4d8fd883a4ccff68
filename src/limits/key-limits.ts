/**
 * The limits of one key, and what a response says of them: pure arithmetic, without clock or map.
 */

import { type Ban, isBanned, noBan } from "./ban.ts";
import { type Bucket, closedBucket, dayMs, emptyUntilMs, fullAgainMs, minuteMs, tokensLeft } from "./bucket.ts";
import type { Quota } from "./plans.ts";
import type { Quotas, RateStatus, Refusal } from "./limiter.ts";

/** Each key has a bucket for the minute, one for the day, and a ban. */
export interface KeyLimits {
  readonly minute: Bucket;
  readonly day: Bucket;
  readonly ban: Ban;
}

/** Shows an instant of the limits as Unix seconds, rounded up. */
export interface Calendar {
  unixSeconds(instantMs: number): number;
}

export function unusedLimits(): KeyLimits {
  return { minute: closedBucket(), day: closedBucket(), ban: noBan() };
}

/** The limits with instants that are later by `byMs`, as another clock shows them. */
export function shifted({ minute, day, ban }: Readonly<KeyLimits>, byMs: number): KeyLimits {
  return {
    minute: { used: minute.used, endsMs: minute.endsMs + byMs },
    day: { used: day.used, endsMs: day.endsMs + byMs },
    ban: { ...ban, secondEndsMs: ban.secondEndsMs + byMs, untilMs: ban.untilMs + byMs },
  };
}

/** The status of the bucket with fewer tokens left; on a tie, of the one that resets later; if equal, of the day. */
export function statusOf(limits: KeyLimits, quota: Quota, nowMs: number, calendar: Calendar): RateStatus {
  const minute = bucketState(limits.minute, quota.perMinute, minuteMs, nowMs);
  const day = bucketState(limits.day, quota.perDay, dayMs, nowMs);
  const isMinute = minute.left < day.left || (minute.left === day.left && minute.endsMs > day.endsMs);
  const { limit, left, endsMs } = isMinute ? minute : day;
  const retryMs = retryAtMs(limits, quota, nowMs);
  return retryMs > nowMs
    ? { limit, remaining: 0, resetSeconds: calendar.unixSeconds(retryMs) }
    : { limit, remaining: left, resetSeconds: calendar.unixSeconds(endsMs) };
}

interface BucketState {
  readonly limit: number;
  readonly left: number;
  readonly endsMs: number;
}

function bucketState(bucket: Bucket, limit: number, windowMs: number, nowMs: number): BucketState {
  return { limit, left: tokensLeft(bucket, limit, nowMs), endsMs: fullAgainMs(bucket, windowMs, nowMs) };
}

/** @param limits as they are once the refusal was counted */
export function refusalOf(limits: KeyLimits, quota: Quota, nowMs: number, calendar: Calendar): Refusal {
  const { limit, remaining, resetSeconds } = statusOf(limits, quota, nowMs, calendar);
  const kind = isBanned(limits.ban, nowMs) ? "key_banned" : "rate_limited";
  // At least 1: it is later than now, and instants are whole milliseconds.
  const retryAfterSeconds = Math.ceil((retryAtMs(limits, quota, nowMs) - nowMs) / 1_000);
  return { kind, limit, remaining, resetSeconds, retryAfterSeconds };
}

export function quotasOf({ minute, day }: KeyLimits, quota: Quota, nowMs: number, calendar: Calendar): Quotas {
  const shown = ({ limit, left, endsMs }: BucketState): RateStatus => {
    return { limit, remaining: left, resetSeconds: calendar.unixSeconds(endsMs) };
  };
  return {
    minute: shown(bucketState(minute, quota.perMinute, minuteMs, nowMs)),
    day: shown(bucketState(day, quota.perDay, dayMs, nowMs)),
  };
}

/** The latest end of the empty buckets and of the ban. Not later than now if a request is served now. */
function retryAtMs({ minute, day, ban }: KeyLimits, quota: Quota, nowMs: number): number {
  return Math.max(
    emptyUntilMs(minute, tokensLeft(minute, quota.perMinute, nowMs)),
    emptyUntilMs(day, tokensLeft(day, quota.perDay, nowMs)),
    ban.untilMs,
  );
}
