/** The limits of one key, and what a response says of them: arithmetic, without clock or map. */

import { type Ban, banRule, isBanned, noBan } from "./ban.ts";
import type { Quotas, RateStatus, Refusal } from "./limiter.ts";
import type { Plan } from "./plans.ts";
import { closedWindow, dayMs, minuteMs, type Window, type WindowState, windowState } from "./window.ts";

export interface KeyLimits {
  readonly minute: Window;
  readonly day: Window;
  readonly ban: Ban;
  /** The last request, served or refused; -Infinity if there was none. */
  lastMs: number;
}

/** Shows an instant of the limits as Unix seconds, rounded up. */
export interface WallClock {
  unixSeconds(instantMs: number): number;
}

export function unusedLimits(): KeyLimits {
  return { minute: closedWindow(), day: closedWindow(), ban: noBan(), lastMs: -Infinity };
}

/** Converts the limits to another clock. @param map takes an instant, and how far in the future it can be */
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
  readonly minute: WindowState;
  readonly day: WindowState;
  /** The key's own object, not a copy: a refusal that is counted later shows in it. */
  readonly ban: Readonly<Ban>;
  readonly nowMs: number;
}

export function limitsState({ minute, day, ban }: Readonly<KeyLimits>, plan: Plan, nowMs: number): LimitsState {
  return {
    minute: windowState(minute, plan.perMinute, minuteMs, nowMs),
    day: windowState(day, plan.perDay, dayMs, nowMs),
    ban,
    nowMs,
  };
}

/** The latest end of the empty windows and of the ban. Not later than now if a request is served now. */
export function retryAtMs({ minute, day, ban }: LimitsState): number {
  return Math.max(emptyUntilMs(minute), emptyUntilMs(day), ban.untilMs);
}

function emptyUntilMs({ left, endsMs }: WindowState): number {
  return left === 0 ? endsMs : -Infinity;
}

/** The status of the window with fewer tokens left; on a tie, of the one that resets later; if equal, of the day. */
export function statusOf(state: LimitsState, wallClock: WallClock): RateStatus {
  const { minute, day, nowMs } = state;
  const isMinute = minute.left < day.left || (minute.left === day.left && minute.endsMs > day.endsMs);
  const shown = isMinute ? minute : day;
  const retryMs = retryAtMs(state);
  return retryMs > nowMs
    ? { limit: shown.limit, remaining: 0, resetSeconds: wallClock.unixSeconds(retryMs) }
    : windowStatus(shown, wallClock);
}

/** Called after the refusal was counted, which may have set off a ban. */
export function refusalOf(state: LimitsState, wallClock: WallClock): Refusal {
  const { limit, remaining, resetSeconds } = statusOf(state, wallClock);
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

export function quotasOf({ minute, day }: LimitsState, wallClock: WallClock): Quotas {
  return { minute: windowStatus(minute, wallClock), day: windowStatus(day, wallClock) };
}

export function windowStatus({ limit, left, endsMs }: WindowState, wallClock: WallClock): RateStatus {
  return { limit, remaining: left, resetSeconds: wallClock.unixSeconds(endsMs) };
}
