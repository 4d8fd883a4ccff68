import assert from "node:assert/strict";
import { test } from "node:test";

import { AddressLimiter } from "../../src/limits/address-limiter.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seeded } from "../support/seeded-random.ts";

const minute = 60_000;

test("AddressLimiter has a window for each address up to its bound, and one shared by all others", () => {
  for (const [addressCount, remaining] of [[9, 59], [10, 59], [11, 59], [12, 58], [70, 0], [71, 0]] as const) {
    const addresses = new AddressLimiter({ clock: new ManualClock(), addressesMax: 10 });
    const decisions = Array.from({ length: addressCount }, (_, index) => addresses.take(`address ${index}`));
    assert.equal(decisions.at(-1)?.remaining, remaining, `${addressCount} addresses`);
    assert.equal(decisions.at(-1)?.kind, addressCount > 70 ? "too_many_failures" : "allowed", `${addressCount} addresses`);
    assert.equal(addresses.count, Math.min(addressCount, 10));
  }
});

test("AddressLimiter.take() drops no used-up window in a flood, whose addresses get no new one", () => {
  const clock = new ManualClock();
  const addresses = new AddressLimiter({ clock, addressesMax: 100 });
  clock.advance(minute / 2);
  for (let index = 0; index < 60; index++) {
    addresses.take("192.0.2.1");
  }
  let admittedCount = 0;
  for (let elapsedMs = 0; elapsedMs < minute; elapsedMs += 100) {
    assert.equal(addresses.take("192.0.2.1").kind, "too_many_failures", `after ${elapsedMs} ms`);
    for (let index = 0; index < 10; index++) {
      admittedCount += addresses.take(`address ${elapsedMs} ${index}`).kind === "allowed" ? 1 : 0;
    }
    clock.advance(100);
  }
  assert.equal(admittedCount, 99 + 60); // those with a window of their own, and what the others share
});

test("AddressLimiter keeps at most 50,000 addresses in a flood of 400,000, and recovers after it", () => {
  const clock = new ManualClock();
  const addresses = new AddressLimiter({ clock });
  for (let index = 0; index < 400_000; index++) {
    addresses.take(`address ${index}`);
    if (index % 4 === 0) {
      clock.advance(1);
    }
    assert.ok(addresses.count <= 50_000);
  }
  clock.advance(2 * minute);
  assert.equal(addresses.take("192.0.2.1").remaining, 59);
  assert.equal(addresses.count, 1);
});

test("AddressLimiter.peek() shows what the next take() finds, also when the minute is over", () => {
  const clock = new ManualClock();
  const addresses = new AddressLimiter({ clock, addressesMax: 1 });
  for (const address of ["one", "one", "another"]) {
    clock.advance(minute / 2);
    addresses.take(address);
  }
  clock.advance(minute / 2);
  assert.equal(addresses.peek("new").remaining, 60);
  assert.equal(addresses.take("new").remaining, 59);
});

test(
  "AddressLimiter admits no address more than 60 times in a minute of its own, whenever it comes",
  seeded((random) => {
    const clock = new ManualClock();
    const addresses = new AddressLimiter({ clock });
    const names = random.times(5, () => `address ${random.uint32()}`);
    const windows = new Map<string, { openedMs: number; count: number }>();
    for (let step = 0; step < 50_000; step++) {
      const name = random.pick(names);
      clock.advance(random.oneIn(200) ? random.integer(0, 2 * minute) : random.integer(0, 300));
      const nowMs = clock.monotonicMs();
      const known = windows.get(name);
      const window = known !== undefined && nowMs - known.openedMs < minute ? known : { openedMs: nowMs, count: 0 };
      windows.set(name, window);
      const expectedKind = window.count < 60 ? "allowed" : "too_many_failures";
      window.count = Math.min(window.count + 1, 60);
      const { kind, remaining } = addresses.take(name);
      assert.deepEqual([kind, remaining], [expectedKind, 60 - window.count]);
    }
  }),
);
