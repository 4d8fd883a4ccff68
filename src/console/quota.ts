/**
 * The quota of a key as its responses tell it, in the browser's own time: only differences of the server's times count
 * (`X-RateLimit-Reset` minus `Date`, or `Retry-After`), so a browser's clock that is wrong harms nothing.
 *
 * Header fields report one bucket. The other has lost a token as well, and other programs may use the same key: its
 * `remaining` is then an upper bound, until `GET /limits` tells both.
 */

export interface Bucket {
  readonly limit: number;
  readonly remaining: number;
  /** Full again at this instant of the browser's clock; undefined if it is full and no window is open. */
  readonly endsAtMs: number | undefined;
  /** False if `remaining` is an upper bound. */
  readonly isExact: boolean;
}

export interface Quota {
  readonly minute: Bucket;
  readonly day: Bucket;
}

/** The content of `GET /limits`, as `parseExact` reads it: numbers are texts. */
export interface Limits {
  readonly plan: string;
  readonly minute: ShownBucket;
  readonly day: ShownBucket;
}

interface ShownBucket {
  readonly limit: string;
  readonly remaining: string;
  /** Unix seconds. */
  readonly reset: string;
}

/** What the fields of a response say of one bucket. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds from the response to the reset. */
  readonly leftMs: number;
}

/** When a response came, by the browser's clock, and what became of its request. */
export interface Arrived {
  readonly nowMs: number;
  readonly isServed: boolean;
}

type ReadField = (name: string) => string | null;

/** `Reset` is rounded up, `Date` down. */
const roundingMsMax = 2_000;
const windowMs = { minute: 60_000, day: 86_400_000 };

/** Reads the rate fields; undefined if the response has none, as one of a proxy. */
export function readRate(field: ReadField, nowMs: number): Rate | undefined {
  const limit = field("X-RateLimit-Limit");
  const retryAfter = field("Retry-After") ?? "none";
  const waits = [
    Number(retryAfter) * 1_000,
    Date.parse(retryAfter) - sentMs(field, nowMs), // Some gateways make a date of it.
    leftUntil(field("X-RateLimit-Reset"), field, nowMs),
  ];
  const leftMs = waits.find((ms) => !Number.isNaN(ms));
  return limit === null || leftMs === undefined
    ? undefined
    : { limit: Number(limit), remaining: Number(field("X-RateLimit-Remaining")), leftMs };
}

export function readLimits({ minute, day }: Limits, field: ReadField, nowMs: number): Quota {
  const read = ({ limit, remaining, reset }: ShownBucket): Bucket => ({
    limit: Number(limit),
    remaining: Number(remaining),
    endsAtMs: nowMs + leftUntil(reset, field, nowMs),
    isExact: true,
  });
  return { minute: read(minute), day: read(day) };
}

/** The quota after a response. A request that was not served, but refused with 429, took no token. */
export function afterResponse(quota: Quota, rate: Rate, { nowMs, isServed }: Arrived): Quota {
  const now = { minute: bucketAt(quota.minute, nowMs), day: bucketAt(quota.day, nowMs) };
  const name = reportedBucket(now, rate, nowMs);
  const other = name === "minute" ? "day" : "minute";
  const { limit, remaining, endsAtMs } = now[other];
  const reportedEndMs = nowMs + rate.leftMs;
  const knownEndMs = now[name].endsAtMs ?? Infinity;
  // Both are too late by roundings: of one window, the earlier is the better.
  const isSameWindow = Math.abs(knownEndMs - reportedEndMs) < roundingMsMax;
  return {
    ...now,
    [name]: {
      limit: rate.limit,
      remaining: rate.remaining,
      endsAtMs: isSameWindow ? Math.min(knownEndMs, reportedEndMs) : reportedEndMs,
      isExact: true,
    },
    [other]: {
      limit,
      // The reported bucket is the one with fewer tokens, so this one has at least as many.
      remaining: Math.max(remaining - Number(isServed), Math.min(rate.remaining, limit)),
      endsAtMs: endsAtMs ?? nowMs + windowMs[other],
      isExact: false,
    },
  };
}

/** The bucket at an instant: full once its window has ended, unless another program has begun the next one. */
export function bucketAt(bucket: Bucket, nowMs: number): Bucket {
  return nowMs < (bucket.endsAtMs ?? Infinity)
    ? bucket
    : { limit: bucket.limit, remaining: bucket.limit, endsAtMs: undefined, isExact: false };
}

/** Whole seconds, rounded up, as "0:42", "14:05" or "23:59:10". */
export function countdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return text.replace(/^(00:0?|0)/, "");
}

/** By its limit; if that does not decide, by the reset that is closer. */
function reportedBucket(quota: Quota, { limit, leftMs }: Rate, nowMs: number): keyof Quota {
  const distance = (name: keyof Quota): number =>
    Math.abs((quota[name].endsAtMs ?? nowMs + windowMs[name]) - nowMs - leftMs) +
    (quota[name].limit === limit ? 0 : windowMs.day);
  return distance("minute") <= distance("day") ? "minute" : "day";
}

function leftUntil(resetSeconds: string | null, field: ReadField, nowMs: number): number {
  return Number(resetSeconds) * 1_000 - sentMs(field, nowMs);
}

/** If a proxy has removed `Date`, the browser's clock has to do. */
function sentMs(field: ReadField, nowMs: number): number {
  return Date.parse(field("Date") ?? "") || nowMs;
}
