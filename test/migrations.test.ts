/**
 * Migrations that were published stay as they are: databases that have run them would not get the change.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { migrations } from "../src/postgres/schema.ts";

/** SHA-256 of each published migration. A new one is added here, with its release. */
const published = ["1a0a622944aa9788867775f4086de190acb345fdd294954e3c5af1deffedbb7b"]; // 1.1.0

test("no published migration was changed", () => {
  const digests = migrations.map((text) => createHash("sha256").update(text).digest("hex"));
  assert.deepEqual(digests, published);
});
