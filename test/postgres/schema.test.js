/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { migrations } from "../../build/src/postgres/schema.js";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["b70856303c26590cb0193a6011bfec250f7484da38398c89b3984518e28c40b5"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
