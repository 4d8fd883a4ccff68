/**
 * Which request of which key is served: a bucket for the minute, one for the day, and a ban, for each key.
 *
 * A request is decided in one synchronous step: both buckets are looked at first, then a token is taken from both or
 * from none. There is no timer: a bucket or a ban that is over is seen to be over by the next request. The arithmetic
 * is in bucket.ts and ban.ts. What is live can be exported, and restored by a later process.
 */

import type { Clock } from "../disk/clock.ts";
import { countRefusal, endStreak, isBanned, liftBan } from "./ban.ts";
import { type Bucket, dayMs, fullAgainMs, minuteMs, takeToken, tokensLeft } from "./bucket.ts";
import type { Decision, RateStatus } from "./decision.ts";
import { entryOf, newEntry, refusedUntilMs, stateOf } from "./entry.ts";
import type { Entry, KeyState, LimiterState } from "./entry.ts";
import type { Plan } from "./plans.ts";
import { Timeline } from "./timeline.ts";

export class Limiter {
  readonly #timeline: Timeline;
  readonly #entries: Map<string, Entry> = new Map();
  #banCount = 0;
  #changeCount = 0;

  constructor(options: { clock: Clock }) {
    this.#timeline = new Timeline(options.clock);
  }

  /** Bans set off since this process began. */
  get banCount(): number {
    return this.#banCount;
  }

  /** Grows with each request and unban: what was exported at a smaller count is out of date. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Keys about which something is remembered. */
  get keyCount(): number {
    return this.#entries.size;
  }

  /** Keys banned now. Looks at every key. */
  get bannedKeyCount(): number {
    const nowMs = this.#timeline.nowMs();
    let count = 0;
    for (const entry of this.#entries.values()) {
      count += isBanned(entry.ban, nowMs) ? 1 : 0;
    }
    return count;
  }

  /** Decides one request of the key and takes its tokens, or counts its refusal (contract, section 5). */
  take(keyId: string, plan: Plan): Decision {
    const nowMs = this.#timeline.nowMs();
    let entry = this.#entries.get(keyId);
    if (entry === undefined) {
      entry = newEntry();
      this.#entries.set(keyId, entry);
    }
    this.#changeCount += 1;
    const minuteLeft = tokensLeft(entry.minute, plan.quota.perMinute, nowMs);
    const dayLeft = tokensLeft(entry.day, plan.quota.perDay, nowMs);
    if (minuteLeft === 0 || dayLeft === 0 || isBanned(entry.ban, nowMs)) {
      return this.#refuse(entry, plan, nowMs);
    }
    takeToken(entry.minute, minuteMs, nowMs);
    takeToken(entry.day, dayMs, nowMs);
    endStreak(entry.ban);
    return this.#standing(entry, plan, nowMs);
  }

  /**
   * What the fields of an answer say that takes no token and counts no refusal: how things stand. Where a request
   * would be refused now, they say what its 429 would. The kind is always "allowed".
   */
  peek(keyId: string, plan: Plan): Decision {
    return this.#standing(this.#entries.get(keyId) ?? newEntry(), plan, this.#timeline.nowMs());
  }

  /** Both buckets of the key as they are. A ban is not shown: a banned key gets no response that could show it. */
  quotas(keyId: string, { quota }: Plan): { readonly minute: RateStatus; readonly day: RateStatus } {
    const nowMs = this.#timeline.nowMs();
    const { minute, day } = this.#entries.get(keyId) ?? newEntry();
    const status = (bucket: Bucket, limit: number, windowMs: number): RateStatus => ({
      limit,
      remaining: tokensLeft(bucket, limit, nowMs),
      resetSeconds: this.#timeline.unixSeconds(fullAgainMs(bucket, windowMs, nowMs)),
    });
    return { minute: status(minute, quota.perMinute, minuteMs), day: status(day, quota.perDay, dayMs) };
  }

  /** Lifts the key's ban, if it has one (contract, section 1: `keys unban`). It still lengthens a further one. */
  unban(keyId: string): void {
    const entry = this.#entries.get(keyId);
    if (entry !== undefined) {
      liftBan(entry.ban, this.#timeline.nowMs());
      this.#changeCount += 1;
    }
  }

  /** What a later process has to know. Keys about which nothing has to be known any more are forgotten here. */
  exportState(): LimiterState {
    const nowMs = this.#timeline.nowMs();
    const keys: KeyState[] = [];
    for (const [keyId, entry] of this.#entries) {
      const state = stateOf(keyId, entry, { nowMs, toWallMs: (instantMs) => this.#timeline.toWallMs(instantMs) });
      if (state === undefined) {
        this.#entries.delete(keyId);
      } else {
        keys.push(state);
      }
    }
    return { savedMs: this.#timeline.toWallMs(nowMs), keys };
  }

  /**
   * Takes over what an earlier process exported. Whatever was done to the clock in between, a bucket stays open for no
   * more than its window, and a ban for no more than its length; a clock that was set back lengthens nothing.
   */
  restoreState(state: LimiterState): void {
    const nowMs = this.#timeline.nowMs();
    const setBackMs = Math.max(0, state.savedMs - this.#timeline.toWallMs(nowMs));
    const toInstantMs = (wallMs: number, aheadMsMax: number): number =>
      Math.min(this.#timeline.fromWallMs(wallMs) - setBackMs, nowMs + aheadMsMax);
    for (const key of state.keys) {
      this.#entries.set(key.id, entryOf(key, toInstantMs));
    }
  }

  #refuse(entry: Entry, plan: Plan, nowMs: number): Decision {
    if (!isBanned(entry.ban, nowMs) && countRefusal(entry.ban, nowMs)) {
      this.#banCount += 1;
    }
    const { limit, remaining, resetSeconds } = this.#standing(entry, plan, nowMs);
    const kind = isBanned(entry.ban, nowMs) ? "key_banned" : "rate_limited";
    // At least 1 by itself: what refuses ends after now, and instants are whole milliseconds.
    const retryAfterSeconds = Math.ceil((refusedUntilMs(entry, plan.quota, nowMs) - nowMs) / 1_000);
    return { kind, limit, remaining, resetSeconds, retryAfterSeconds };
  }

  /**
   * The bucket with fewer tokens left, of two equal ones the later, and the day where both end at one instant. Where
   * requests are refused, until when.
   */
  #standing(entry: Entry, plan: Plan, nowMs: number): Decision {
    const { perMinute, perDay } = plan.quota;
    const minuteLeft = tokensLeft(entry.minute, perMinute, nowMs);
    const dayLeft = tokensLeft(entry.day, perDay, nowMs);
    const minuteEndsMs = fullAgainMs(entry.minute, minuteMs, nowMs);
    const dayEndsMs = fullAgainMs(entry.day, dayMs, nowMs);
    const isMinute = minuteLeft < dayLeft || (minuteLeft === dayLeft && minuteEndsMs > dayEndsMs);
    const untilMs = refusedUntilMs(entry, plan.quota, nowMs);
    const isRefused = untilMs > nowMs;
    return {
      kind: "allowed",
      limit: isMinute ? perMinute : perDay,
      remaining: isRefused ? 0 : isMinute ? minuteLeft : dayLeft,
      resetSeconds: this.#timeline.unixSeconds(isRefused ? untilMs : isMinute ? minuteEndsMs : dayEndsMs),
      retryAfterSeconds: 0,
    };
  }
}
