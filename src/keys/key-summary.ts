import { unusedLimits } from "../limits/key-limits.ts";
import type { MemoryLimiter } from "../limits/memory-limiter.ts";
import type { PlanName } from "../limits/plans.ts";
import { type ApiKey, type KeyState, keyState } from "./key.ts";

/** What lists show of a key. Instants are ISO 8601, in UTC and whole seconds. */
export interface KeySummary {
  readonly id: string;
  readonly state: KeyState | "banned";
  readonly plan: PlanName;
  readonly readOnly: boolean;
  readonly minute: { readonly limit: number; readonly used: number };
  readonly day: { readonly limit: number; readonly used: number };
  readonly bannedUntil: string | null;
  /** The time of the last request, served or refused; null if there was none for a day. */
  readonly lastRequest: string | null;
  readonly created: string;
  readonly expires: string | null;
  /** After a rotation: until when old secrets work. */
  readonly graceUntil: string | null;
  readonly label: string | null;
}

/** What a program that embeds the service learns about the key of a request. */
export type CallerKey = Readonly<Pick<KeySummary, "id" | "plan" | "label" | "readOnly">>;

/** @internal @param nowMs Unix milliseconds */
export function summaryOf(key: ApiKey, limiter: MemoryLimiter, nowMs: number): KeySummary {
  const { minute, day } = limiter.quotas(key.id, key.plan);
  const { ban, lastMs } = limiter.keys.get(key.id) ?? unusedLimits();
  const banUntilMs = limiter.clockMapping.toWallMs(ban.untilMs);
  const state = keyState(key, nowMs);
  return {
    id: key.id,
    state: state === "active" && banUntilMs > nowMs ? "banned" : state,
    plan: key.plan.name,
    readOnly: key.isReadOnly,
    minute: { limit: minute.limit, used: minute.limit - minute.remaining },
    day: { limit: day.limit, used: day.limit - day.remaining },
    bannedUntil: banUntilMs > nowMs ? isoSeconds(banUntilMs) : null,
    lastRequest: lastMs === -Infinity ? null : isoSeconds(limiter.clockMapping.toWallMs(lastMs)),
    created: isoSeconds(key.createdMs),
    expires: key.expiresMs === undefined ? null : isoSeconds(key.expiresMs),
    graceUntil: key.graceUntilMs === undefined || key.graceUntilMs <= nowMs ? null : isoSeconds(key.graceUntilMs),
    label: key.label ?? null,
  };
}

/** @internal */
export function isoSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
