import assert from "node:assert/strict";
import { test } from "node:test";

import { pluralize } from "../../src/base/pluralize.ts";

test("pluralize() uses the singular only for one", () => {
  assert.deepEqual([0, 1, 2].map((count) => pluralize(count, "key")), ["0 keys", "1 key", "2 keys"]);
});
