import assert from "node:assert/strict";
import { test } from "node:test";

import { markInvisible } from "../../src/console/invisible-characters.ts";

test("markInvisible() shows control, format, bidirectional and ignorable characters by their code points", () => {
  const ignorable = ["\u3164", "\u115f", "\uffa0", "\ufe0f", "\u034f", "\u180b", "\u17b4", "\u{e0100}"];
  const hidden = ["\u0000", "\u0007", "\n", "\u007f", "\u00ad", "\u200b", "\u200d", "\u200f", "\u2028", "\u202e", "\u2066", "\ufeff"];
  for (const character of [...hidden, ...ignorable, "\u2800", "\u00a0", "\u3000", "\u{e0041}", "\ud800"]) {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    assert.deepEqual(markInvisible(`a${character}b`), ["a", `U+${code}`, "b"]);
  }
});

test("markInvisible() shows what joins nothing, before, after and between what it could join", () => {
  for (const text of ["👩\u200d", "\u200d👧", "a\u200db", "👩\u200d\u200d👧", "👩\u200dx", "❤\ufe0f\ufe0f"]) {
    assert.ok(markInvisible(text).length > 1, JSON.stringify(text));
  }
});

test("markInvisible() leaves visible characters as they are", () => {
  for (const text of ["", "Rex", "Señor Ñandú", "نمر", "猫 と 犬", "🦊", "❤️", "<img src=x onerror=alert(1)>", "U+202E"]) {
    assert.deepEqual(markInvisible(text), [text]);
  }
  for (const text of ["👩🏽‍🦯", "👨‍👩‍👧", "🏳️‍🌈", "🐕‍🦺"]) { // Joined to one sign.
    assert.deepEqual(markInvisible(text), [text]);
  }
});
