import assert from "node:assert/strict";
import { test } from "node:test";

import { createPlan, quotaMax } from "../../src/limits/plans.ts";

test("createPlan() returns the published quotas", () => {
  const table = ["free", "pro", "business"].map((name) => createPlan(name));
  assert.deepEqual(table, [
    { name: "free", perMinute: 60, perDay: 1_000 },
    { name: "pro", perMinute: 300, perDay: 10_000 },
    { name: "business", perMinute: 1_000, perDay: 100_000 },
  ]);
});

test("createPlan() accepts Enterprise numbers from 1 to the bound", () => {
  for (const count of [0, 1, 2, quotaMax - 1, quotaMax, quotaMax + 1]) {
    for (const quota of [{ perMinute: count, perDay: 5 }, { perMinute: 5, perDay: count }]) {
      if (count >= 1 && count <= quotaMax) {
        assert.deepEqual(createPlan("enterprise", quota), { name: "enterprise", ...quota });
      } else {
        assert.throws(() => createPlan("enterprise", quota), RangeError);
      }
    }
  }
});

test("createPlan() rejects Enterprise numbers that are missing or not integers, and names them", () => {
  for (const [quota, name] of [
    [undefined, "perMinute"],
    [{ perMinute: 1 }, "perDay"],
    [{ perDay: 1 }, "perMinute"],
    [{ perMinute: 1.5, perDay: 1 }, "perMinute"],
    [{ perMinute: 1, perDay: Number.NaN }, "perDay"],
  ] as const) {
    assert.throws(() => createPlan("enterprise", quota), {
      name: "RangeError",
      message: new RegExp(`${name} must be an integer from 1 to ${quotaMax}`),
    });
  }
});

test("createPlan() rejects numbers for the other plans, and unknown plans", () => {
  assert.throws(() => createPlan("free", { perMinute: 61 }), /only enterprise has numbers of its own/);
  for (const name of ["", "Free", "gold", "__proto__", "constructor"]) {
    assert.throws(() => createPlan(name), /must be one of free, pro, business, enterprise/);
  }
});
