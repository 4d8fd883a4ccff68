/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { migrations } from "../src/postgres/schema.ts";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["dc5a761bd3a5a26a02c90c9b69d1c1ca68e4d83d9e1308cbe183f8e1ea7618a4"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
