/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { migrations } from "../src/postgres/schema.ts";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["e2c354b8145ef2edec0d480d092b81fe0db77d7e5c88c6e5ad9b70d4bdc50da8"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
