import assert from "node:assert/strict";
import { test } from "node:test";

import { lineWithChecksum, viewOf } from "../../src/base/checksum.ts";
import { decodeKeyEvent, encodeKeyEvent, keyLineBytesMax, type KeyReading } from "../../src/keys/key-line.ts";
import type { KeyEvent } from "../../src/keys/key-events.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { seeded } from "../support/seeded-random.ts";

const timeMs = Date.UTC(2026, 10, 21, 12, 0, 0, 7);
const id = "key_0123456789ABCde";
const sha256 = "0123456789abcdef".repeat(4);
const enterprise = createPlan("enterprise", { perMinute: 5, perDay: 1_000_000_000 });

const events: Readonly<Record<string, KeyEvent>> = {
  "made, as short as can be": {
    event: "made", timeMs, id, sha256, plan: createPlan("free"), label: undefined, expiresMs: undefined, isReadOnly: false,
  },
  "made, with everything": {
    event: "made", timeMs, id, sha256, plan: enterprise, label: "Rex \"ä\" 🐕 \\", expiresMs: timeMs + 1, isReadOnly: true,
  },
  "made, with the longest label": {
    event: "made", timeMs, id, sha256, plan: enterprise, label: "🐕".repeat(64), expiresMs: undefined, isReadOnly: false,
  },
  revoked: { event: "revoked", timeMs, id },
  plan: { event: "plan", timeMs, id, plan: createPlan("business") },
  "plan with numbers": { event: "plan", timeMs, id, plan: enterprise },
  label: { event: "label", timeMs, id, label: "the shop" },
  "label taken off": { event: "label", timeMs, id, label: undefined },
  expiry: { event: "expiry", timeMs, id, expiresMs: timeMs + 1 },
  "expiry taken off": { event: "expiry", timeMs, id, expiresMs: undefined },
  rotated: { event: "rotated", timeMs, id, sha256, graceUntilMs: timeMs + 60_000 },
  unbanned: { event: "unbanned", timeMs, id },
  reset: { event: "reset", timeMs, id },
};

function decode(line: string): KeyReading {
  const before = "something else before it\n";
  const bytes = Buffer.from(`${before}${line}something after it`);
  return decodeKeyEvent(viewOf(bytes), before.length, before.length + Buffer.byteLength(line) - 1);
}

for (const [name, event] of Object.entries(events)) {
  test(`decodeKeyEvent() returns what encodeKeyEvent() wrote: ${name}`, () => {
    const line = encodeKeyEvent(event);
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.ok(Buffer.byteLength(line) <= keyLineBytesMax);
    assert.deepEqual(decode(line), { kind: "event", event });
  });
}

test("encodeKeyEvent() writes the members of the grammar in its order", () => {
  const written = Object.entries(events).filter(([name]) => !name.includes("longest"));
  const lines = written.map(([, event]) => encodeKeyEvent(event).replace(/,"crc":"[0-9a-f]{8}"}\n$/, "}"));
  const happened = `"time":"2026-11-21T12:00:00.007Z","id":"${id}"`;
  assert.deepEqual(lines, [
    `{"event":"made",${happened},"sha256":"${sha256}","plan":"free"}`,
    `{"event":"made",${happened},"sha256":"${sha256}","plan":"enterprise","perMinute":5,"perDay":1000000000,` +
      `"label":"Rex \\"ä\\" 🐕 \\\\","expires":"2026-11-21T12:00:00.008Z","readOnly":true}`,
    `{"event":"revoked",${happened}}`,
    `{"event":"plan",${happened},"plan":"business"}`,
    `{"event":"plan",${happened},"plan":"enterprise","perMinute":5,"perDay":1000000000}`,
    `{"event":"label",${happened},"label":"the shop"}`,
    `{"event":"label",${happened}}`,
    `{"event":"expiry",${happened},"expires":"2026-11-21T12:00:00.008Z"}`,
    `{"event":"expiry",${happened}}`,
    `{"event":"rotated",${happened},"sha256":"${sha256}","graceUntil":"2026-11-21T12:01:00.007Z"}`,
    `{"event":"unbanned",${happened}}`,
    `{"event":"reset",${happened}}`,
  ]);
});

test("decodeKeyEvent() reports any flipped bit as damage", () => {
  const line = Buffer.from(encodeKeyEvent(events["rotated"] ?? assert.fail()));
  for (let bit = 0; bit < (line.length - 1) * 8; bit += 1) {
    const flipped = Buffer.from(line);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    const decoded = decodeKeyEvent(viewOf(flipped), 0, line.length - 1);
    assert.equal(decoded.kind, "damage", `bit ${bit}`);
  }
});

const time = `"time":"2026-11-21T12:00:00.007Z"`;
const wrong: Readonly<Record<string, string>> = {
  "an unknown event": `{"event":"renamed",${time},"id":"${id}"}`,
  "an unknown member": `{"event":"revoked",${time},"id":"${id}","by":"me"}`,
  "a missing member": `{"event":"plan",${time},"id":"${id}"}`,
  "another order": `{"event":"revoked","id":"${id}",${time}}`,
  "an escape that is not needed": `{"event":"\\u0072evoked",${time},"id":"${id}"}`,
  "an ill-formed id": `{"event":"revoked",${time},"id":"key_short"}`,
  "an ill-formed digest":
    `{"event":"rotated",${time},"id":"${id}","sha256":"00","graceUntil":"2026-11-21T12:00:00.007Z"}`,
  "a time without milliseconds": `{"event":"revoked","time":"2026-11-21T12:00:00Z","id":"${id}"}`,
  "an unknown plan": `{"event":"plan",${time},"id":"${id}","plan":"gold"}`,
  "enterprise with half its numbers": `{"event":"plan",${time},"id":"${id}","plan":"enterprise","perMinute":5}`,
  "a number out of bounds": `{"event":"plan",${time},"id":"${id}","plan":"enterprise","perMinute":0,"perDay":7}`,
  "a label of 65 characters":
    `{"event":"made",${time},"id":"${id}","sha256":"${sha256}","plan":"free","label":"${"ä".repeat(65)}"}`,
  "a new label of 65 characters": `{"event":"label",${time},"id":"${id}","label":"${"ä".repeat(65)}"}`,
  "broken JSON": `{"event":"revoked",${time},"id":"${id}" "x":1}`,
};

for (const [name, json] of Object.entries(wrong)) {
  test(`decodeKeyEvent() reports a line with a right checksum as wrong if it has ${name}`, () => {
    const decoded = decode(lineWithChecksum(json));
    assert.ok(decoded.kind === "wrong", JSON.stringify(decoded));
    assert.match(decoded.reason, /newer release/);
  });
}

test("decodeKeyEvent() accepts a line with a right checksum only if it would write the same", seeded((random) => {
  const seeds = Object.values(events).map((event) => encodeKeyEvent(event).replace(/,"crc":"[0-9a-f]{8}"}\n$/, "}"));
  for (let round = 0; round < 3_000; round += 1) {
    const json = random.pick(seeds);
    const at = random.integer(1, json.length - 2);
    const changed = `${json.slice(0, at)}${random.pick(Array.from("0a\"{}[],:-\\ \u2028é"))}${json.slice(at + 1)}`;
    const decoded = decode(lineWithChecksum(changed));
    if (decoded.kind === "event") {
      assert.deepEqual(Buffer.from(encodeKeyEvent(decoded.event)), Buffer.from(lineWithChecksum(changed)));
    } else {
      assert.equal(decoded.kind, "wrong", changed);
    }
  }
}));
