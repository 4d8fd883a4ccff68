import assert from "node:assert/strict";
import { test } from "node:test";

import { AddressLimiter } from "../../src/limits/address-limiter.ts";
import { clientAddress } from "../../src/limits/client-address.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("AddressLimiter keeps addresses only, not the X-Forwarded-For fields of 16 kB that they are from", () => {
  const limiter = new AddressLimiter({ clock: new ManualClock() });
  const field = (last: string): string => Buffer.from(`${"x".repeat(16_000)}, ${last}`).toString("latin1");
  const beforeBytes = heapBytes();
  for (let index = 0; index < 2_000; index++) {
    const last = `203.${100 + (index % 100)}.${100 + Math.floor(index / 100)}.100`;
    limiter.take(clientAddress("127.0.0.1", field(last), 1));
  }
  const takenBytes = heapBytes() - beforeBytes;
  assert.equal(limiter.count, 2_000);
  assert.ok(takenBytes < 2_000_000, `2,000 addresses take ${takenBytes} bytes`);
});
