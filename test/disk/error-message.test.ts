import assert from "node:assert/strict";
import { test } from "node:test";

import { messageOf } from "../../src/disk/error-message.ts";

test("messageOf() of a failure to connect to several addresses names each, since it has no message itself", () => {
  const failures = [new Error("connect ECONNREFUSED ::1:1"), new Error("connect ECONNREFUSED 127.0.0.1:1")];
  assert.equal(messageOf(new AggregateError(failures)), "connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1");
  assert.equal(messageOf(new AggregateError(failures, "two failures")), "two failures");
});
