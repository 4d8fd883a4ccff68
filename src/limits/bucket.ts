/**
 * One window of requests: pure arithmetic on (bucket, quota, now), without clock, map or timer.
 *
 * A bucket opens full with the first request that takes a token from it. One window later it is full again, all at
 * once. It has the tokens taken, not those left: the quota comes with each call, so a change of plan keeps what is
 * used. Instants are whole monotonic milliseconds.
 */

export interface Bucket {
  /** Tokens taken since it opened. Unused once the bucket is closed. */
  used: number;
  /** When it is full again: from then on it is closed. */
  endsMs: number;
}

export const minuteMs: number = 60_000;
export const dayMs: number = 86_400_000;

/** Returns a bucket from which nothing was ever taken. */
export function closedBucket(): Bucket {
  return { used: 0, endsMs: -Infinity };
}

export function isOpen(bucket: Readonly<Bucket>, nowMs: number): boolean {
  return nowMs < bucket.endsMs;
}

/** Never less than 0, also if the plan became smaller than what is used. */
export function tokensLeft(bucket: Readonly<Bucket>, quota: number, nowMs: number): number {
  return isOpen(bucket, nowMs) ? Math.max(0, quota - bucket.used) : quota;
}

/** Takes a token, if `tokensLeft` says that there is one. Opens the bucket if it is closed. */
export function takeToken(bucket: Bucket, windowMs: number, nowMs: number): void {
  if (!isOpen(bucket, nowMs)) {
    bucket.used = 0;
    bucket.endsMs = nowMs + windowMs;
  }
  bucket.used += 1;
}

/** When the bucket is full again; if it is closed, when it would be if it opened now. */
export function fullAgainMs(bucket: Readonly<Bucket>, windowMs: number, nowMs: number): number {
  return isOpen(bucket, nowMs) ? bucket.endsMs : nowMs + windowMs;
}

/** Until when the bucket refuses requests: its end if no token is left, else -Infinity. */
export function emptyUntilMs(bucket: Readonly<Bucket>, left: number): number {
  return left === 0 ? bucket.endsMs : -Infinity;
}
