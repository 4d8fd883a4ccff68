import assert from "node:assert/strict";
import { test } from "node:test";

import { closedBucket, fullAgainMs, minuteMs, takeToken, tokensLeft } from "../../src/limits/bucket.ts";

interface Step {
  readonly atMs: number;
  readonly quota: number;
  readonly tokensBefore: number;
  readonly asked: number;
  readonly allowed: number;
  readonly fullAgainMs: number;
}

const tables: Readonly<Record<string, readonly Step[]>> = {
  "opens a full bucket, which is full again a window later": [
    { atMs: 500, quota: 3, tokensBefore: 3, asked: 1, allowed: 1, fullAgainMs: 60_500 },
    { atMs: 30_000, quota: 3, tokensBefore: 2, asked: 3, allowed: 2, fullAgainMs: 60_500 },
    { atMs: 60_499, quota: 3, tokensBefore: 0, asked: 1, allowed: 0, fullAgainMs: 60_500 },
    { atMs: 60_500, quota: 3, tokensBefore: 3, asked: 1, allowed: 1, fullAgainMs: 120_500 },
    { atMs: 60_501, quota: 3, tokensBefore: 2, asked: 0, allowed: 0, fullAgainMs: 120_500 },
  ],
  "gives no token back before the end of the window": [
    { atMs: 0, quota: 2, tokensBefore: 2, asked: 2, allowed: 2, fullAgainMs: 60_000 },
    { atMs: 59_999, quota: 2, tokensBefore: 0, asked: 2, allowed: 0, fullAgainMs: 60_000 },
  ],
  "opens the bucket only with the first token": [
    { atMs: 0, quota: 1, tokensBefore: 1, asked: 0, allowed: 0, fullAgainMs: 60_000 },
    { atMs: 59_000, quota: 1, tokensBefore: 1, asked: 1, allowed: 1, fullAgainMs: 119_000 },
  ],
  "keeps what is used if the quota changes, and never leaves less than 0": [
    { atMs: 0, quota: 5, tokensBefore: 5, asked: 4, allowed: 4, fullAgainMs: 60_000 },
    { atMs: 1, quota: 3, tokensBefore: 0, asked: 1, allowed: 0, fullAgainMs: 60_000 },
    { atMs: 2, quota: 4, tokensBefore: 0, asked: 1, allowed: 0, fullAgainMs: 60_000 },
    { atMs: 3, quota: 6, tokensBefore: 2, asked: 3, allowed: 2, fullAgainMs: 60_000 },
    { atMs: 60_000, quota: 3, tokensBefore: 3, asked: 0, allowed: 0, fullAgainMs: 120_000 },
  ],
};

for (const [promise, steps] of Object.entries(tables)) {
  test(`takeToken() ${promise}`, () => {
    const bucket = closedBucket();
    for (const [index, step] of steps.entries()) {
      const { atMs, quota } = step;
      const tokensBefore = tokensLeft(bucket, quota, atMs);
      let allowed = 0;
      while (allowed < step.asked && tokensLeft(bucket, quota, atMs) > 0) {
        takeToken(bucket, minuteMs, atMs);
        allowed++;
      }
      const seen = { ...step, tokensBefore, allowed, fullAgainMs: fullAgainMs(bucket, minuteMs, atMs) };
      assert.deepEqual(seen, step, `step ${index}`);
    }
  });
}
