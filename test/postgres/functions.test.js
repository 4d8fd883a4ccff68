/**
 * The functions that a database has are made by a migration, and a database that has the last migration keeps those that
 * it has. So a changed text, or a changed constant in it such as the length of a ban, needs a migration, if only an
 * empty one. Method: a digest of all texts for each version of the schema. It needs no PostgreSQL.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { catalogueFunctions } from "../../build/src/postgres/catalogue-functions.js";
import { functions } from "../../build/src/postgres/functions.js";
import { migrations, oldestVersion } from "../../build/src/postgres/migrations.js";

/** By version. An entry of a published release stays as it is. */
const digests = {
  6: "oau83z8iT-cyDXbWCtlKLFvwrtnm_mB00YZSrly3R0w",
};

test("a function of the database whose text has changed has a migration that makes it anew", () => {
  const version = oldestVersion + migrations.length;
  const digest = hash("sha256", functions + catalogueFunctions, "base64url");
  const advice = `if version ${version} is published, add a migration; then note the digest ${digest}`;
  assert.equal(digests[version], digest, `the functions have changed: ${advice}`);
});
