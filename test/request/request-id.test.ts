import assert from "node:assert/strict";
import { test } from "node:test";

import { RequestIds } from "../../src/request/request-id.ts";

test("request ids are twelve plain characters, and no two of a process are the same", () => {
  const ids = new RequestIds();
  const seen = new Set(Array.from({ length: 3_500 }, () => ids.next()));
  assert.equal(seen.size, 3_500);
  for (const id of seen) {
    assert.match(id, /^[0-9a-z]{9}[0-9]{3}$/);
  }
});
