import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { adviceFor } from "../../src/console/advice.ts";
import { errorTable } from "../../src/http/errors.ts";
import { root } from "../support/root.ts";

const unknown = adviceFor("of_no_service");

test("adviceFor() has advice for every code of the service, and for no response", () => {
  for (const code of [...Object.keys(errorTable), "invalid_idempotency_key", "idempotency_key_reused", "no_response"]) {
    assert.notEqual(adviceFor(code), unknown, code);
  }
});

test("adviceFor() names no button that the page does not have", () => {
  const page = readFileSync(join(root, "src/console/index.html"), "utf8");
  const named = Object.keys(errorTable).flatMap((code) => Array.from(adviceFor(code).matchAll(/Press (\w+)/g), ([, name]) => name));
  assert.ok(named.length > 0);
  for (const name of named) {
    assert.ok(page.includes(`>${name}</button>`), name);
  }
});

test("adviceFor() has no advice for unknown codes, not even for names that every object has", () => {
  for (const code of ["", "constructor", "__proto__", "toString"]) {
    assert.equal(adviceFor(code), unknown);
  }
});
