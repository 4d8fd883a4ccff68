/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { migrations } from "../src/postgres/schema.ts";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["bb5de4ce71c4029b8f4d17b3811307672265f4a41975faa7505c17e313e1cdd7"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
