/**
 * One window of requests: pure arithmetic on (bucket, quota, now), without clock, map or timer.
 *
 * A bucket opens full with the first request that takes a token from it, is full again one window later, and nothing
 * trickles in between (contract, section 5). It remembers how many tokens were taken, not how many are left: the quota
 * comes with each call, so a change of plan keeps what is used. Instants are whole monotonic milliseconds.
 */

export interface Bucket {
  /** Tokens taken since it opened. Means nothing once the bucket has ended. */
  used: number;
  /** The instant at which it is full again. From then on the bucket is closed. */
  endsMs: number;
}

export const minuteMs: number = 60_000;
export const dayMs: number = 86_400_000;

/** A bucket from which nothing was ever taken. */
export function closedBucket(): Bucket {
  return { used: 0, endsMs: -Infinity };
}

export function isOpen(bucket: Readonly<Bucket>, nowMs: number): boolean {
  return nowMs < bucket.endsMs;
}

/** Never below 0, also where a smaller plan came after more requests than it allows. */
export function tokensLeft(bucket: Readonly<Bucket>, quota: number, nowMs: number): number {
  return isOpen(bucket, nowMs) ? Math.max(0, quota - bucket.used) : quota;
}

/** Takes a token that `tokensLeft` has found; opens the bucket where it is closed. */
export function takeToken(bucket: Bucket, windowMs: number, nowMs: number): void {
  if (!isOpen(bucket, nowMs)) {
    bucket.used = 0;
    bucket.endsMs = nowMs + windowMs;
  }
  bucket.used += 1;
}

/** When the bucket is full again; of a closed one, when it would be if it opened now. */
export function fullAgainMs(bucket: Readonly<Bucket>, windowMs: number, nowMs: number): number {
  return isOpen(bucket, nowMs) ? bucket.endsMs : nowMs + windowMs;
}

/** How long the bucket refuses: its end where no token is left, else an instant before every other. */
export function emptyUntilMs(bucket: Readonly<Bucket>, left: number): number {
  return left === 0 ? bucket.endsMs : -Infinity;
}
