/**
 * The quota of a key as its responses tell it. Only differences of the server's times count (`X-RateLimit-Reset` minus
 * `Date`, or `Retry-After`), so a browser's clock that is wrong harms nothing. `GET /limits` tells of both windows,
 * header fields of one. What was said of the other stays, as an upper bound.
 */

export interface Bucket {
  readonly limit: number;
  readonly remaining: number;
  /** As the service said it, in Unix seconds. The same in every response of a window. */
  readonly reset: number;
  /** The same instant by the browser's clock. */
  readonly endsAtMs: number;
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

type ShownBucket = Readonly<Record<"limit" | "remaining" | "reset", string>>;

/** What the fields of a response say of one bucket. */
export interface Rate extends Pick<Bucket, "limit" | "remaining" | "reset"> {
  /** Milliseconds from the response to the reset. */
  readonly leftMs: number;
}

type ReadField = (name: string) => string | null;

/** The longest time to a minute's reset that a response can show: `Reset` is rounded up, `Date` down. */
const minuteMsMax = 62_000;

/** Reads the rate fields; undefined if the response has none, as one of a proxy. */
export function readRate(field: ReadField, nowMs: number): Rate | undefined {
  const limit = field("X-RateLimit-Limit");
  const reset = Number(field("X-RateLimit-Reset"));
  const waits = [
    Number(field("Retry-After") ?? NaN) * 1_000, // Some gateways make a date of it: then the reset tells.
    reset * 1_000 - sentMs(field, nowMs),
  ];
  const leftMs = waits.find((ms) => !Number.isNaN(ms));
  return limit === null || leftMs === undefined
    ? undefined
    : { limit: Number(limit), remaining: Number(field("X-RateLimit-Remaining")), reset, leftMs };
}

export function readLimits({ minute, day }: Limits, field: ReadField, nowMs: number): Quota {
  const read = ({ limit, remaining, reset }: ShownBucket): Bucket => ({
    limit: Number(limit),
    remaining: Number(remaining),
    reset: Number(reset),
    endsAtMs: nowMs + Number(reset) * 1_000 - sentMs(field, nowMs),
    isExact: true,
  });
  return { minute: read(minute), day: read(day) };
}

/** The quota after a response whose fields report one bucket. */
export function afterResponse(quota: Quota, { limit, remaining, reset, leftMs }: Rate, nowMs: number): Quota {
  const read = (known: Bucket, isReported: boolean): Bucket => {
    if (!isReported) {
      return { ...known, isExact: false };
    }
    // Both are too late by roundings: of one window, the earlier is the better.
    const endsAtMs = Math.min(nowMs + leftMs, reset === known.reset ? known.endsAtMs : Infinity);
    return { limit, remaining, reset, endsAtMs, isExact: true };
  };
  const isBoth = quota.minute.limit === quota.day.limit;
  const isDay = isBoth ? leftMs > minuteMsMax : limit === quota.day.limit;
  return {
    minute: read(quota.minute, limit === quota.minute.limit && !isDay),
    day: read(quota.day, limit === quota.day.limit && isDay),
  };
}

/** The bucket at an instant: full once its window has ended, unless another program has begun the next one. */
export function bucketAt(bucket: Bucket, nowMs: number): Bucket {
  return nowMs < bucket.endsAtMs ? bucket : { ...bucket, remaining: bucket.limit, isExact: false };
}

/** How little is left, in words; empty for a fifth or more. */
export function shortage({ remaining, limit }: Bucket): string {
  if (remaining === 0) {
    return "used up";
  }
  return remaining < limit / 20 ? "almost used up" : remaining < limit / 5 ? "running low" : "";
}

/** Whole seconds, rounded up, as "0:42", "14:05" or "23:59:10". */
export function countdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return text.replace(/^(00:0?|0)/, "");
}

/** If a proxy has removed `Date`, the browser's clock has to do. */
function sentMs(field: ReadField, nowMs: number): number {
  return Date.parse(field("Date") ?? "") || nowMs;
}
