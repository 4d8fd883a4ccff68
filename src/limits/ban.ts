/**
 * Bans a key that keeps sending requests after 429: arithmetic, without clock or map.
 *
 * A refusal counts at most once a second. The seconds start at the first refusal of a streak, so that a client that
 * retries every 999 ms is counted too. A streak ends with the next request served, or with the ban that it causes.
 */

export interface Ban {
  /** Refusals counted in the current streak; 0 if there is none. */
  refusalCount: number;
  /** The end of the second that was counted last: refusals before it do not count. Unused without a streak. */
  secondEndsMs: number;
  /** The end of the last ban: in the future while the key is banned, -Infinity if it never was. */
  untilMs: number;
  /** The full length of the last ban, also if it was lifted. */
  durationMs: number;
}

/** The rule. Its twin in SQL is `decide` in postgres/functions.ts, with these constants. */
export const banRule = {
  /** Refusals, each in another second, that set off a ban. */
  refusalCount: 10,
  secondMs: 1_000,
  durationMinMs: 300_000, // five minutes
  durationMaxMs: 3_600_000, // an hour
  /** A ban that starts within this time after the end of the last one is a further one, and lasts twice as long. */
  memoryMs: 86_400_000,
} as const;

export function noBan(): Ban {
  return { refusalCount: 0, secondEndsMs: -Infinity, untilMs: -Infinity, durationMs: 0 };
}

export function isBanned(ban: Readonly<Ban>, nowMs: number): boolean {
  return nowMs < ban.untilMs;
}

/** Whether a ban that starts now is a further one. True during a ban, too. */
export function isRemembered(ban: Readonly<Ban>, nowMs: number): boolean {
  return nowMs <= ban.untilMs + banRule.memoryMs;
}

/** Counts a refusal of a key that is not banned. Returns true if it sets off a ban. */
export function countRefusal(ban: Ban, nowMs: number): boolean {
  if (ban.refusalCount === 0) {
    ban.secondEndsMs = nowMs;
  }
  if (nowMs < ban.secondEndsMs) {
    return false;
  }
  const { refusalCount, secondMs, durationMinMs, durationMaxMs } = banRule;
  ban.secondEndsMs += secondMs * (Math.floor((nowMs - ban.secondEndsMs) / secondMs) + 1);
  ban.refusalCount += 1;
  if (ban.refusalCount < refusalCount) {
    return false;
  }
  ban.durationMs = isRemembered(ban, nowMs) ? Math.min(2 * ban.durationMs, durationMaxMs) : durationMinMs;
  ban.untilMs = nowMs + ban.durationMs;
  ban.refusalCount = 0;
  return true;
}

/** Ends the ban, and the streak. This does not shorten the next ban. */
export function liftBan(ban: Ban, nowMs: number): void {
  ban.refusalCount = 0;
  ban.untilMs = Math.min(ban.untilMs, nowMs);
}
