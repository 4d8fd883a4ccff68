/**
 * A naive model of the limits of one key: every instant is kept, and each question is answered by going through all of
 * them. Shares no arithmetic with src/limits.
 */

export interface Expected {
  readonly kind: "allowed" | "rate_limited" | "key_banned";
  readonly limit: number;
  readonly remaining: number;
  /** The instant that Reset names. */
  readonly resetMs: number;
  /** The instant until which Retry-After waits; undefined if the request is allowed. */
  readonly waitUntilMs: number | undefined;
  /** What ends then: of several, the day, then the minute. */
  readonly waitsFor: "minute" | "day" | "ban" | undefined;
}

interface Window {
  readonly quota: number;
  readonly lengthMs: number;
  /** When the requests of the window under way were admitted. */
  readonly life: readonly number[];
}

interface PastBan {
  readonly lengthMs: number;
  endMs: number;
}

const minute = 60 * 1000;
const hour = 60 * minute;
const day = 24 * hour;

export class KeyModel {
  readonly #admitted: number[] = [];
  readonly #bans: PastBan[] = [];
  /** Since the last request served, or the last ban. */
  #refused: number[] = [];

  request(now: number, quota: { perMinute: number; perDay: number }): Expected {
    const wasBanned = this.#isBanned(now);
    const windows = this.#windows(now, quota);
    if (!wasBanned && windows.every((window) => window.life.length < window.quota)) {
      this.#admitted.push(now);
      this.#refused = [];
      const expected = this.look(now, quota);
      return { ...expected, kind: "allowed", waitUntilMs: undefined, waitsFor: undefined };
    }
    if (!wasBanned) {
      this.#countRefusal(now);
    }
    const expected = this.look(now, quota);
    return { ...expected, kind: this.#isBanned(now) ? "key_banned" : "rate_limited", waitUntilMs: expected.resetMs };
  }

  /** The status of a response that takes no token. */
  look(now: number, quota: { perMinute: number; perDay: number }): Expected {
    const [first, second] = this.#windows(now, quota)
      .map((window) => ({ ...window, left: Math.max(window.quota - window.life.length, 0) }))
      .map((window) => ({ ...window, end: (window.life[0] ?? now) + window.lengthMs }))
      .sort((one, other) => one.left - other.left || other.end - one.end);
    if (first === undefined || second === undefined) {
      throw new Error("there are two windows");
    }
    const obstacles: { end: number; name: "minute" | "day" | "ban" }[] = [first, second]
      .filter(({ left }) => left === 0)
      .map(({ end, lengthMs }) => ({ end, name: lengthMs === day ? "day" : "minute" }));
    const ban = this.#bans.at(-1);
    if (ban !== undefined && this.#isBanned(now)) {
      obstacles.push({ end: ban.endMs, name: "ban" });
    }
    const latest = obstacles.sort((one, other) => other.end - one.end)[0];
    return {
      kind: "allowed",
      limit: first.quota,
      remaining: latest === undefined ? first.left : 0,
      resetMs: latest?.end ?? first.end,
      waitUntilMs: undefined,
      waitsFor: latest?.name,
    };
  }

  unban(now: number): void {
    const ban = this.#bans.at(-1);
    if (ban !== undefined && this.#isBanned(now)) {
      ban.endMs = now;
    }
    this.#refused = [];
  }

  reset(): void {
    this.#admitted.length = 0;
    this.#bans.length = 0;
    this.#refused = [];
  }

  #isBanned(now: number): boolean {
    return this.#bans.some(({ endMs }) => now < endMs);
  }

  #countRefusal(now: number): void {
    this.#refused.push(now);
    const start = this.#refused[0] ?? now;
    const seconds = new Set(this.#refused.map((instant) => Math.floor((instant - start) / 1000)));
    if (seconds.size === 10) {
      const last = this.#bans.at(-1);
      const isFurther = last !== undefined && now - last.endMs <= day;
      const lengthMs = isFurther ? Math.min(last.lengthMs * 2, hour) : 5 * minute;
      this.#bans.push({ lengthMs, endMs: now + lengthMs });
      this.#refused = [];
    }
  }

  #windows(now: number, quota: { perMinute: number; perDay: number }): readonly Window[] {
    // The day first: if both have as many left and the same reset, the day is reported.
    return [
      { quota: quota.perDay, lengthMs: day, life: lifeAt(now, this.#admitted, day) },
      { quota: quota.perMinute, lengthMs: minute, life: lifeAt(now, this.#admitted, minute) },
    ];
  }
}

/** Goes through all requests from the first: which of them are in the window that is open now? */
function lifeAt(now: number, admitted: readonly number[], lengthMs: number): readonly number[] {
  let start = 0;
  for (let index = 1; index < admitted.length; index++) {
    if ((admitted[index] ?? 0) >= (admitted[start] ?? 0) + lengthMs) {
      start = index;
    }
  }
  const opened = admitted[start];
  return opened !== undefined && now < opened + lengthMs ? admitted.slice(start) : [];
}
