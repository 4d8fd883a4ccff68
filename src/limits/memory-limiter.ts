/**
 * Decides which request of which key is served, with the limits of all keys in memory.
 *
 * A token is taken from both windows or from none. There is no timer: the next request sees that a window or a ban is
 * over. limits-file.ts keeps the limits across restarts. A step of the wall clock alters the times of resets
 * that are shown, not the resets.
 */

import type { Clock } from "../base/clock.ts";
import { countRefusal, isBanned, liftBan } from "./ban.ts";
import { takeToken } from "./window.ts";
import {
  type KeyLimits, type LimitsState, limitsState, quotasOf, refusalOf, retryAtMs, statusOf, unusedLimits,
} from "./key-limits.ts";
import type { Limiter, Quotas, RateStatus, Refusal, Served } from "./limiter.ts";
import type { Plan } from "./plans.ts";
import { WallClockMapping } from "./wall-clock-mapping.ts";

export class MemoryLimiter implements Limiter {
  readonly clockMapping: WallClockMapping;
  /** The limits by key id. The code that reads and writes stored limits also adds to this map and removes from it. */
  readonly keys: Map<string, KeyLimits> = new Map();
  /** Bans set off since the process started. Only this class changes it. */
  banCount = 0;
  /** Grows with each request, unban and reset: a snapshot made at a smaller count is out of date. */
  changeCount = 0;

  constructor(options: { readonly clock: Clock }) {
    this.clockMapping = new WallClockMapping(options.clock);
  }

  get bannedKeyCount(): number {
    const nowMs = this.clockMapping.nowMs();
    return [...this.keys.values()].filter(({ ban }) => isBanned(ban, nowMs)).length;
  }

  take(keyId: string, plan: Plan): Served | Refusal {
    const nowMs = this.clockMapping.nowMs();
    let limits = this.keys.get(keyId);
    if (limits === undefined) {
      limits = unusedLimits();
      this.keys.set(keyId, limits);
    }
    this.changeCount += 1;
    limits.lastMs = nowMs;
    const state = limitsState(limits, plan, nowMs);
    if (retryAtMs(state) > nowMs) {
      if (!isBanned(limits.ban, nowMs) && countRefusal(limits.ban, nowMs)) {
        this.banCount += 1;
      }
      return refusalOf(state, this.clockMapping);
    }
    takeToken(limits.minute, state.minute);
    takeToken(limits.day, state.day);
    limits.ban.refusalCount = 0;
    const { limit, remaining, resetSeconds } = statusOf(state, this.clockMapping);
    return { kind: "allowed", limit, remaining, resetSeconds, quotas: () => quotasOf(state, this.clockMapping) };
  }

  peek(keyId: string, plan: Plan): RateStatus {
    return statusOf(this.#stateOf(keyId, plan), this.clockMapping);
  }

  quotas(keyId: string, plan: Plan): Quotas {
    return quotasOf(this.#stateOf(keyId, plan), this.clockMapping);
  }

  unban(keyId: string): void {
    const limits = this.keys.get(keyId);
    if (limits !== undefined) {
      liftBan(limits.ban, this.clockMapping.nowMs());
      this.changeCount += 1;
    }
  }

  /** Fills the key's windows, and forgets its bans. */
  reset(keyId: string): void {
    const limits = this.keys.get(keyId);
    if (limits !== undefined) {
      this.keys.set(keyId, { ...unusedLimits(), lastMs: limits.lastMs });
      this.changeCount += 1;
    }
  }

  #stateOf(keyId: string, plan: Plan): LimitsState {
    return limitsState(this.keys.get(keyId) ?? unusedLimits(), plan, this.clockMapping.nowMs());
  }
}
