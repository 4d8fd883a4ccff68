/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { migrations } from "../../build/src/postgres/schema.js";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["408c167d8918c44c6484784eca53b11426c78b61a87f57cad85fc1bc8db306c6"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
