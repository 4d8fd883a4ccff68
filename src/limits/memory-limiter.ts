/**
 * Decides which request of which key is served, with the limits of all keys in memory.
 *
 * A request is decided in one synchronous step: a token is taken from both buckets or from none. There is no timer: the
 * next request sees that a bucket or a ban is over. The arithmetic is in bucket.ts, ban.ts and key-limits.ts;
 * limits-file.ts keeps the limits across restarts.
 */

import type { Clock } from "../base/clock.ts";
import { countRefusal, endStreak, isBanned, liftBan } from "./ban.ts";
import { dayMs, minuteMs, takeToken, tokensLeft } from "./bucket.ts";
import { type KeyLimits, quotasOf, refusalOf, statusOf, unusedLimits } from "./key-limits.ts";
import type { Plan } from "./plans.ts";
import type { Quotas, Limiter, RateStatus, Refusal, Served } from "./limiter.ts";
import { Timeline } from "./timeline.ts";

export class MemoryLimiter implements Limiter {
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

  /** Requests that are decided during an iteration change it. */
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

  take(keyId: string, plan: Plan): Served | Refusal {
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
    const { limit, remaining, resetSeconds } = statusOf(limits, plan.quota, nowMs, this.timeline);
    return { kind: "allowed", limit, remaining, resetSeconds, quotas: () => this.quotas(keyId, plan) };
  }

  peek(keyId: string, { quota }: Plan): RateStatus {
    return statusOf(this.#keys.get(keyId) ?? unusedLimits(), quota, this.timeline.nowMs(), this.timeline);
  }

  quotas(keyId: string, { quota }: Plan): Quotas {
    return quotasOf(this.#keys.get(keyId) ?? unusedLimits(), quota, this.timeline.nowMs(), this.timeline);
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

  #refuse(limits: KeyLimits, { quota }: Plan, nowMs: number): Refusal {
    if (!isBanned(limits.ban, nowMs) && countRefusal(limits.ban, nowMs)) {
      this.#banCount += 1;
    }
    return refusalOf(limits, quota, nowMs, this.timeline);
  }
}
