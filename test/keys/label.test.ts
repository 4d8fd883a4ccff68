import assert from "node:assert/strict";
import { test } from "node:test";

import { checkedLabel } from "../../src/keys/key-options.ts";
import { createSecret } from "../../src/keys/key.ts";

test("checkedLabel() counts code points up to 64", () => {
  for (const letter of ["x", "ä", "🐕"]) {
    assert.equal(checkedLabel(letter.repeat(63)), letter.repeat(63));
    assert.equal(checkedLabel(letter.repeat(64)), letter.repeat(64));
    assert.throws(() => checkedLabel(letter.repeat(65)), /^RangeError: Cannot label key: .*at most 64 printable/);
  }
});

test("checkedLabel() repeats no key, whatever else is wrong with the label", () => {
  const secret = createSecret((byteCount) => new Uint8Array(byteCount).fill(7));
  for (const label of [secret, `${secret}\n`, secret.repeat(2)]) {
    assert.throws(() => checkedLabel(label), { name: "RangeError", message: "Cannot label key: the label contains a key" });
  }
  assert.throws(() => checkedLabel(4 as unknown as string), /^RangeError: .* received 4$/);
});

test("checkedLabel() returns undefined for an empty label", () => {
  assert.equal(checkedLabel(""), undefined);
  assert.equal(checkedLabel(undefined), undefined);
});

test("checkedLabel() rejects what is not printable", () => {
  const faults = {
    "a control character": "\u001b[31m", "a newline": "a\nb", "a C1 control": "\u0085", "a line separator": "\u2028",
    "a paragraph separator": "\u2029", "a lone surrogate": "\ud800", "a change of direction": "\u202e",
    "a zero-width joiner": "\u200d", "a private code point": "\ue000", "an unassigned code point": "\u0378",
  };
  for (const [name, label] of Object.entries(faults)) {
    assert.throws(() => checkedLabel(label), RangeError, name);
  }
});
