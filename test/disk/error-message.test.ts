import assert from "node:assert/strict";
import { test } from "node:test";

import { counted, messageOf } from "../../src/disk/error-message.ts";

test("messageOf() of a failure to connect to several addresses names each, since it has no message itself", () => {
  const failures = [new Error("connect ECONNREFUSED ::1:1"), new Error("connect ECONNREFUSED 127.0.0.1:1")];
  assert.equal(messageOf(new AggregateError(failures)), "connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1");
  assert.equal(messageOf(new AggregateError(failures, "two failures")), "two failures");
});

test("counted() uses the singular only for one", () => {
  assert.deepEqual([0, 1, 2].map((count) => counted(count, "key")), ["0 keys", "1 key", "2 keys"]);
});
