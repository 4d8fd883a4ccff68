/**
 * What is remembered about one key, and the form in which it outlives the process.
 */

import { isRemembered, noBan } from "./ban.ts";
import type { Ban } from "./ban.ts";
import { closedBucket, dayMs, emptyUntilMs, isOpen, minuteMs, tokensLeft } from "./bucket.ts";
import type { Bucket } from "./bucket.ts";
import type { Quota } from "./plans.ts";

export interface Entry {
  readonly minute: Bucket;
  readonly day: Bucket;
  readonly ban: Ban;
}

/** An entry with Unix milliseconds in the place of instants, and without what is over. */
export interface KeyState {
  readonly id: string;
  readonly minute?: Readonly<Bucket>;
  readonly day?: Readonly<Bucket>;
  readonly streak?: Pick<Readonly<Ban>, "refusalCount" | "secondEndsMs">;
  readonly ban?: Pick<Readonly<Ban>, "untilMs" | "durationMs">;
}

export interface LimiterState {
  /** When it was exported, in Unix milliseconds. */
  readonly savedMs: number;
  readonly keys: readonly KeyState[];
}

interface Now {
  readonly nowMs: number;
  readonly toWallMs: (instantMs: number) => number;
}

const secondMs = 1_000;

export function newEntry(): Entry {
  return { minute: closedBucket(), day: closedBucket(), ban: noBan() };
}

/** The latest of the ends of the empty buckets and of the ban. Not in the future where a request is served now. */
export function refusedUntilMs(entry: Entry, quota: Quota, nowMs: number): number {
  return Math.max(
    emptyUntilMs(entry.minute, tokensLeft(entry.minute, quota.perMinute, nowMs)),
    emptyUntilMs(entry.day, tokensLeft(entry.day, quota.perDay, nowMs)),
    entry.ban.untilMs,
  );
}

/** Undefined where nothing is left to be remembered. */
export function stateOf(id: string, { minute, day, ban }: Entry, { nowMs, toWallMs }: Now): KeyState | undefined {
  const isAnyOpen = isOpen(minute, nowMs) || isOpen(day, nowMs);
  if (!isAnyOpen && !isRemembered(ban, nowMs)) {
    return undefined;
  }
  const { refusalCount, secondEndsMs, untilMs, durationMs } = ban;
  // With both buckets closed the next request is served, or refused by a ban: either way a streak no longer matters.
  const hasStreak = isAnyOpen && refusalCount > 0;
  return {
    id,
    ...(isOpen(minute, nowMs) ? { minute: { used: minute.used, endsMs: toWallMs(minute.endsMs) } } : {}),
    ...(isOpen(day, nowMs) ? { day: { used: day.used, endsMs: toWallMs(day.endsMs) } } : {}),
    ...(hasStreak ? { streak: { refusalCount, secondEndsMs: toWallMs(secondEndsMs) } } : {}),
    ...(isRemembered(ban, nowMs) ? { ban: { untilMs: toWallMs(untilMs), durationMs } } : {}),
  };
}

/** @param toInstantMs the instant of that wall time, but no further ahead of now than the second number says */
export function entryOf(state: KeyState, toInstantMs: (wallMs: number, aheadMsMax: number) => number): Entry {
  const entry = newEntry();
  const { minute, day, streak, ban } = state;
  if (minute !== undefined) {
    Object.assign(entry.minute, { used: minute.used, endsMs: toInstantMs(minute.endsMs, minuteMs) });
  }
  if (day !== undefined) {
    Object.assign(entry.day, { used: day.used, endsMs: toInstantMs(day.endsMs, dayMs) });
  }
  if (streak !== undefined) {
    const secondEndsMs = toInstantMs(streak.secondEndsMs, secondMs);
    Object.assign(entry.ban, { refusalCount: streak.refusalCount, secondEndsMs });
  }
  if (ban !== undefined) {
    const { durationMs } = ban;
    Object.assign(entry.ban, { untilMs: toInstantMs(ban.untilMs, durationMs), durationMs });
  }
  return entry;
}
