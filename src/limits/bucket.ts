/**
 * One window of requests: arithmetic, without clock, map or timer.
 *
 * A bucket opens full with the first request that takes a token from it, and is full again one window later. It has the
 * tokens taken, not those left, so a change of plan keeps what is used. Instants are whole milliseconds.
 */

export interface Bucket {
  /** Tokens taken since it opened. Unused once the bucket is closed. */
  used: number;
  /** When it is full again: from then on it is closed. */
  endsMs: number;
}

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

export function closedBucket(): Bucket {
  return { used: 0, endsMs: -Infinity };
}

export function isOpen(bucket: Readonly<Bucket>, nowMs: number): boolean {
  return nowMs < bucket.endsMs;
}

/** A bucket at an instant, under a plan: what is decided and shown follows from it. */
export interface BucketState {
  readonly limit: number;
  /** Tokens left; never less than 0, also if the plan became smaller than what is used. */
  left: number;
  /** When it is full again; if it is closed, when it would be if it opened now. */
  readonly endsMs: number;
}

export function bucketState(bucket: Readonly<Bucket>, limit: number, windowMs: number, nowMs: number): BucketState {
  return isOpen(bucket, nowMs)
    ? { limit, left: Math.max(0, limit - bucket.used), endsMs: bucket.endsMs }
    : { limit, left: limit, endsMs: nowMs + windowMs };
}

/** Takes one of the tokens that are left, from the bucket and from its state. Opens the bucket if it is closed. */
export function takeToken(bucket: Bucket, state: BucketState): void {
  state.left -= 1;
  bucket.used = state.limit - state.left;
  bucket.endsMs = state.endsMs;
}
