/**
 * Decides which request of which key is served, with the limits of all keys in memory.
 *
 * A request is decided in one synchronous step: a token is taken from both buckets or from none. There is no timer: the
 * next request sees that a bucket or a ban is over. The arithmetic is in bucket.ts, ban.ts and key-limits.ts;
 * limits-file.ts keeps the limits across restarts.
 */

import type { Clock } from "../base/clock.ts";
import { type Ban, countRefusal, endStreak, isBanned, liftBan } from "./ban.ts";
import { takeToken } from "./bucket.ts";
import {
  type KeyLimits, type LimitsState, limitsState, quotasOf, refusalOf, retryAtMs, statusOf, unusedLimits,
} from "./key-limits.ts";
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

  /** Grows with each request, unban and reset: a snapshot made at a smaller count is out of date. */
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
    limits.lastMs = nowMs;
    const state = limitsState(limits, plan.quota, nowMs);
    if (retryAtMs(state) > nowMs) {
      return this.#refuse(limits.ban, state);
    }
    takeToken(limits.minute, state.minute);
    takeToken(limits.day, state.day);
    endStreak(limits.ban);
    const { limit, remaining, resetSeconds } = statusOf(state, this.timeline);
    return { kind: "allowed", limit, remaining, resetSeconds, quotas: () => quotasOf(state, this.timeline) };
  }

  peek(keyId: string, plan: Plan): RateStatus {
    return statusOf(this.#stateOf(keyId, plan), this.timeline);
  }

  quotas(keyId: string, plan: Plan): Quotas {
    return quotasOf(this.#stateOf(keyId, plan), this.timeline);
  }

  /** Lifts the key's ban, if it has one. This does not shorten the next ban. */
  unban(keyId: string): void {
    const limits = this.#keys.get(keyId);
    if (limits !== undefined) {
      liftBan(limits.ban, this.timeline.nowMs());
      this.#changeCount += 1;
    }
  }

  /** Makes the key's buckets full again and forgets its bans. */
  reset(keyId: string): void {
    const limits = this.#keys.get(keyId);
    if (limits !== undefined) {
      this.#keys.set(keyId, { ...unusedLimits(), lastMs: limits.lastMs });
      this.#changeCount += 1;
    }
  }

  /** Forgets a key whose limits have no further effect. */
  forget(keyId: string): void {
    this.#keys.delete(keyId);
  }

  /** Sets the limits that an earlier process had for the key. */
  restore(keyId: string, limits: KeyLimits): void {
    this.#keys.set(keyId, limits);
  }

  #stateOf(keyId: string, { quota }: Plan): LimitsState {
    return limitsState(this.#keys.get(keyId) ?? unusedLimits(), quota, this.timeline.nowMs());
  }

  #refuse(ban: Ban, state: LimitsState): Refusal {
    if (!isBanned(ban, state.nowMs) && countRefusal(ban, state.nowMs)) {
      this.#banCount += 1;
    }
    return refusalOf(state, this.timeline);
  }
}
