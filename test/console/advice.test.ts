import assert from "node:assert/strict";
import { test } from "node:test";

import { adviceFor } from "../../src/console/advice.ts";
import { errorTable } from "../../src/http/errors.ts";

const unknown = adviceFor("", "");

test("adviceFor() has words for every code of the service, its own or the service's, and for no response", () => {
  for (const [code, [, message]] of Object.entries(errorTable)) {
    assert.notEqual(adviceFor(code, message), unknown, code);
  }
  assert.notEqual(adviceFor("no_response", ""), unknown);
});

test("adviceFor() names no field and no code where a person at a till can get the error", () => {
  const met = ["outcome_unknown", "invalid_api_key", "insufficient_scope", "rate_limited"] as const;
  for (const code of [...met, "key_banned", "internal_error", "storage_unavailable", "pet_not_found", "invalid_body"] as const) {
    assert.doesNotMatch(adviceFor(code, errorTable[code][1]), /[a-z]_[a-z]|[A-Z][a-z]+-[A-Z]|ETag|\d{3}/, code);
  }
});

test("adviceFor() has no words for unknown codes, not even for names that every object has", () => {
  for (const code of ["", "constructor", "__proto__", "toString"]) {
    assert.equal(adviceFor(code, ""), unknown);
  }
});
