import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { withoutSecrets } from "../../src/base/redact-secrets.ts";
import { createSecret } from "../../src/keys/key.ts";

test("withoutSecrets() masks every key in a text, wherever it is", () => {
  for (let count = 0; count < 100; count += 1) {
    const [first, second] = [createSecret(randomBytes), createSecret(randomBytes)];
    assert.equal(withoutSecrets(first), "as_…");
    assert.equal(withoutSecrets(`key=${first},${second}.`), "key=as_…,as_….");
    assert.equal(withoutSecrets(`as_${first}`), "as_as_…");
  }
});

test("withoutSecrets() leaves all other text as it is", () => {
  for (const text of ["", "as_", "as_wrong", `as_${"x".repeat(42)}`, `AS_${"x".repeat(43)}`, "key_0123456789ABCDE"]) {
    assert.equal(withoutSecrets(text), text);
  }
});
