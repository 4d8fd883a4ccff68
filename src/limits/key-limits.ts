/** The limits of one key, and what a response says of them: arithmetic, without clock or map. */

import { type Ban, banRule, isBanned, noBan } from "./ban.ts";
import { type Bucket, type BucketState, bucketState, closedBucket, dayMs, minuteMs } from "./bucket.ts";
import type { Plan } from "./plans.ts";
import type { Quotas, RateStatus, Refusal } from "./limiter.ts";

export interface KeyLimits {
  readonly minute: Bucket;
  readonly day: Bucket;
  readonly ban: Ban;
  /** The last request, served or refused; -Infinity if there was none. */
  lastMs: number;
}

/** Shows an instant of the limits as Unix seconds, rounded up. */
export interface Calendar {
  unixSeconds(instantMs: number): number;
}

export function unusedLimits(): KeyLimits {
  return { minute: closedBucket(), day: closedBucket(), ban: noBan(), lastMs: -Infinity };
}

/** The limits by another clock. @param map takes each instant, and how far it can be ahead */
export function withInstants(
  { minute, day, ban, lastMs }: Readonly<KeyLimits>,
  map: (instantMs: number, aheadMsMax: number) => number,
): KeyLimits {
  const { secondEndsMs, untilMs, durationMs } = ban;
  return {
    minute: { used: minute.used, endsMs: map(minute.endsMs, minuteMs) },
    day: { used: day.used, endsMs: map(day.endsMs, dayMs) },
    ban: { ...ban, secondEndsMs: map(secondEndsMs, banRule.secondMs), untilMs: map(untilMs, durationMs) },
    lastMs: map(lastMs, 0),
  };
}

/** The limits at an instant, under a plan: the decision, the fields and a refusal follow from it. */
export interface LimitsState {
  readonly minute: BucketState;
  readonly day: BucketState;
  /** The key's own: it is the same once a refusal was counted. */
  readonly ban: Readonly<Ban>;
  readonly nowMs: number;
}

export function limitsState({ minute, day, ban }: Readonly<KeyLimits>, plan: Plan, nowMs: number): LimitsState {
  return {
    minute: bucketState(minute, plan.perMinute, minuteMs, nowMs),
    day: bucketState(day, plan.perDay, dayMs, nowMs),
    ban,
    nowMs,
  };
}

/** The latest end of the empty buckets and of the ban. Not later than now if a request is served now. */
export function retryAtMs({ minute, day, ban }: LimitsState): number {
  return Math.max(emptyUntilMs(minute), emptyUntilMs(day), ban.untilMs);
}

function emptyUntilMs({ left, endsMs }: BucketState): number {
  return left === 0 ? endsMs : -Infinity;
}

/** The status of the bucket with fewer tokens left; on a tie, of the one that resets later; if equal, of the day. */
export function statusOf(state: LimitsState, calendar: Calendar): RateStatus {
  const { minute, day, nowMs } = state;
  const isMinute = minute.left < day.left || (minute.left === day.left && minute.endsMs > day.endsMs);
  const shown = isMinute ? minute : day;
  const retryMs = retryAtMs(state);
  return retryMs > nowMs
    ? { limit: shown.limit, remaining: 0, resetSeconds: calendar.unixSeconds(retryMs) }
    : bucketStatus(shown, calendar);
}

/** @param state once the refusal was counted */
export function refusalOf(state: LimitsState, calendar: Calendar): Refusal {
  const { limit, remaining, resetSeconds } = statusOf(state, calendar);
  const kind = isBanned(state.ban, state.nowMs) ? "key_banned" : "rate_limited";
  const retryMs = retryAtMs(state);
  const waitsFor =
    emptyUntilMs(state.day) === retryMs ? "day" : emptyUntilMs(state.minute) === retryMs ? "minute" : "ban";
  return { kind, limit, remaining, resetSeconds, waitsFor, retryAfterSeconds: secondsUntil(retryMs, state.nowMs) };
}

/** For `Retry-After`. At least 1: the instant is later than now, and instants are whole milliseconds. */
export function secondsUntil(instantMs: number, nowMs: number): number {
  return Math.ceil((instantMs - nowMs) / 1_000);
}

export function quotasOf({ minute, day }: LimitsState, calendar: Calendar): Quotas {
  return { minute: bucketStatus(minute, calendar), day: bucketStatus(day, calendar) };
}

export function bucketStatus({ limit, left, endsMs }: BucketState, calendar: Calendar): RateStatus {
  return { limit, remaining: left, resetSeconds: calendar.unixSeconds(endsMs) };
}
