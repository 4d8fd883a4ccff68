/**
 * When a key that goes on after a 429 is banned, and for how long: pure arithmetic on (ban, now), without clock or map.
 *
 * A refusal counts at most once a second. The seconds are laid from the first refusal of a streak, so that a burst of
 * up to a second counts once, and a client that retries every 999 ms does not slip between them. A streak ends with the
 * next request served, or with the ban that it brings (specification, "Rate limits by plan", rule 3; contract, section
 * 5). Instants are whole monotonic milliseconds.
 */

export interface Ban {
  /** Refusals counted in the streak under way; 0 where there is none. */
  refusalCount: number;
  /** The end of the second that was counted last: refusals before it do not count. Means nothing without a streak. */
  secondEndsMs: number;
  /** The end of the last ban: in the future while the key is banned, -Infinity where it never was. */
  untilMs: number;
  /** How long the last ban was meant to be. */
  durationMs: number;
}

const secondMs = 1_000;
export const refusalCountMax: number = 10;
export const banDurationMinMs: number = 5 * 60_000;
export const banDurationMaxMs: number = 60 * 60_000;
/** A ban that begins this long after the end of the last one, or sooner, is a further one. */
export const banMemoryMs: number = 24 * 60 * 60_000;

export function noBan(): Ban {
  return { refusalCount: 0, secondEndsMs: -Infinity, untilMs: -Infinity, durationMs: 0 };
}

export function isBanned(ban: Readonly<Ban>, nowMs: number): boolean {
  return nowMs < ban.untilMs;
}

/** Would a ban that begins now be a further one? True while one is under way, too. */
export function isRemembered(ban: Readonly<Ban>, nowMs: number): boolean {
  return nowMs <= ban.untilMs + banMemoryMs;
}

/** A request was served: the streak is over. */
export function endStreak(ban: Ban): void {
  ban.refusalCount = 0;
}

/** Counts a refusal outside a ban. True when it is the one that sets a ban off. */
export function countRefusal(ban: Ban, nowMs: number): boolean {
  if (ban.refusalCount === 0) {
    ban.secondEndsMs = nowMs;
  }
  if (nowMs < ban.secondEndsMs) {
    return false;
  }
  ban.secondEndsMs += secondMs * (Math.floor((nowMs - ban.secondEndsMs) / secondMs) + 1);
  ban.refusalCount += 1;
  if (ban.refusalCount < refusalCountMax) {
    return false;
  }
  ban.durationMs = isRemembered(ban, nowMs) ? Math.min(2 * ban.durationMs, banDurationMaxMs) : banDurationMinMs;
  ban.untilMs = nowMs + ban.durationMs;
  ban.refusalCount = 0;
  return true;
}

/** Ends the ban under way now, and the streak. It was a ban all the same: a further one is longer. */
export function liftBan(ban: Ban, nowMs: number): void {
  ban.refusalCount = 0;
  ban.untilMs = Math.min(ban.untilMs, nowMs);
}
