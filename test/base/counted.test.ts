import assert from "node:assert/strict";
import { test } from "node:test";

import { counted } from "../../src/base/counted.ts";

test("counted() uses the singular only for one", () => {
  assert.deepEqual([0, 1, 2].map((count) => counted(count, "key")), ["0 keys", "1 key", "2 keys"]);
});
