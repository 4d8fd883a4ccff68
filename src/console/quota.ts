/**
 * The quota of a key as its responses tell it. Only differences of the server's times count (`X-RateLimit-Reset` minus
 * `Date`, or `Retry-After`), so a browser's clock that is wrong harms nothing. `GET /limits` tells of both windows,
 * header fields of one. Of the other, what was said last less the page's own requests is an upper bound: as long as
 * nothing proves that its plan has changed, or that an operator has reset it.
 */

export interface Bucket {
  readonly limit: number;
  readonly remaining: number;
  /** As the service said it, in Unix seconds. The same in every response of a window. */
  readonly reset: number;
  /** The same instant by the browser's clock, at the latest. */
  readonly endsAtMs: number;
  /** The same at the earliest: from here on it may be full. */
  readonly fullFromMs: number;
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

type Fields = Pick<Headers, "get">;

/** The longest time to a minute's reset that a response can show: `Reset` is rounded up, `Date` down. */
const minuteMsMax = 62_000;

/** By so much these roundings make a reset too late. */
const roundedMsMax = 2_000;

/** Reads the rate fields; undefined if the response has none, as one of a proxy. */
export function readRate(fields: Fields, nowMs: number): Rate | undefined {
  const limit = fields.get("X-RateLimit-Limit");
  const reset = Number(fields.get("X-RateLimit-Reset"));
  // Some gateways make a date of Retry-After: then the reset tells.
  const leftMs = Number(fields.get("Retry-After")) * 1_000 || reset * 1_000 - sentMs(fields, nowMs);
  return limit === null || Number.isNaN(leftMs)
    ? undefined
    : { limit: Number(limit), remaining: Number(fields.get("X-RateLimit-Remaining")), reset, leftMs };
}

/** @param ms how long the response took */
export function readLimits({ minute, day }: Limits, fields: Fields, nowMs: number, ms: number): Quota {
  const read = ({ limit, remaining, reset }: ShownBucket): Bucket => ({
    limit: Number(limit),
    remaining: Number(remaining),
    reset: Number(reset),
    ...windowEnd(nowMs + Number(reset) * 1_000 - sentMs(fields, nowMs), ms),
    isExact: true,
  });
  return { minute: read(minute), day: read(day) };
}

function windowEnd(endsAtMs: number, ms: number): Pick<Bucket, "endsAtMs" | "fullFromMs"> {
  return { endsAtMs, fullFromMs: endsAtMs - roundedMsMax - ms };
}

/**
 * The quota after a response whose fields report one bucket; undefined if that is neither of the two: the plan has
 * changed, and `GET /limits` will say how.
 * @param taken 1, or 0 for a 429
 */
export function afterResponse(
  quota: Quota,
  { limit, remaining, reset, leftMs }: Rate,
  taken: 0 | 1,
  nowMs: number,
  ms: number,
): Quota | undefined {
  const minute = bucketAt(quota.minute, nowMs);
  const day = bucketAt(quota.day, nowMs);
  const isDay = limit === day.limit && (leftMs > minuteMsMax || reset === day.reset);
  if (!isDay && (limit !== minute.limit || leftMs > minuteMsMax)) {
    return undefined;
  }
  const [known, other] = isDay ? [day, minute] : [minute, day];
  const isSame = reset === known.reset;
  const isFollowing = nowMs >= known.fullFromMs || (isSame && remaining <= known.remaining - taken);
  // A reset fills both. And the other bucket never has fewer left than the one that is reported.
  const isReset = !isFollowing || remaining > other.remaining - taken;
  // Of one window the end stays: its countdown does not jump because of roundings.
  const reported = { ...known, ...(isSame ? {} : windowEnd(nowMs + leftMs, ms)), remaining, reset, isExact: true };
  const reckoned = { ...other, remaining: (isReset ? other.limit : other.remaining) - taken, isExact: false };
  return isDay ? { minute: reckoned, day: reported } : { minute: reported, day: reckoned };
}

/** The quota after a request of which nobody knows whether it has taken a token. */
export function afterUnknown({ minute, day }: Quota): Quota {
  return { minute: { ...minute, isExact: false }, day: { ...day, isExact: false } };
}

/** The bucket at an instant: full once its window has ended, unless another program has begun the next one. */
export function bucketAt(bucket: Bucket, nowMs: number): Bucket {
  return nowMs < bucket.fullFromMs ? bucket : { ...bucket, remaining: bucket.limit, isExact: false };
}

/** How little is left, in words and a class of the style sheet. Empty for a fifth or more. */
export function shortage({ remaining, limit }: Bucket): readonly [words: string, kind: string] {
  if (remaining < limit / 20) {
    return [remaining === 0 ? "used up, " : "almost used up, ", "bad"];
  }
  return remaining < limit / 5 ? ["running low, ", "warning"] : ["", "hint"];
}

/** Whole seconds, rounded up, as "0:42", "14:05" or "23:59:10". */
export function countdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return text.replace(/^(00:0?|0)/, "");
}

/** If a proxy has removed `Date`, the browser's clock has to do. */
function sentMs(fields: Fields, nowMs: number): number {
  return Date.parse(fields.get("Date") ?? "") || nowMs;
}
