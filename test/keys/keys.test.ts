import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { KeyError } from "../../src/keys/key.ts";
import type { KeyFault } from "../../src/keys/key.ts";
import { graceSecondsMax, newKey } from "../../src/keys/keys.ts";
import { createPlan, type PlanName } from "../../src/limits/plans.ts";
import { ask, KeyFolder, type OpenKeys } from "../support/key-folder.ts";

const unknownId = "key_000000000000000";

function keyError(code: KeyFault, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof KeyError);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

test("createFirst() makes one key, however often it is called at once, and none where there was one", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const first = (): Promise<boolean> => store.createFirst(newKey({ label: "first" }, folder).event);
  const areMade = await Promise.all([first(), first(), first()]);
  assert.equal(areMade.filter((isMade) => isMade).length, 1);
  const [key, ...others] = await store.list();
  assert.deepEqual([key?.label, others], ["first", []]);
  await store.revoke(key?.id ?? "");
  assert.equal(await first(), false, "a revoked key was a first key too");
});

test("Keys.create() writes a file for its owner alone, with only the SHA-256 of a key", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const made = await store.create({ label: "shop" });
  const rotated = await store.rotate(made.id, { graceSeconds: 5 });
  assert.equal((await stat(folder.file)).mode & 0o777, 0o600);
  const names = await readdir(folder.path);
  const all = (await Promise.all(names.map((name) => readFile(join(folder.path, name), "latin1")))).join();
  for (const { key } of [made, rotated]) {
    assert.ok(!all.includes(key) && !all.includes(key.slice("as_".length)));
    assert.ok(all.includes(createHash("sha256").update(key).digest("hex")));
  }
  assert.ok(!JSON.stringify(await store.list()).includes("as_"));
});

const wrongChoices: Readonly<Record<string, object>> = {
  "an unknown plan": { plan: "gold" },
  "numbers beside Free": { perMinute: 5, perDay: 5 },
  "Enterprise without numbers": { plan: "enterprise" },
  "a label that is no text": { label: 4 as unknown as string },
  "an expiry that is no text": { expires: 1e15 as unknown as string },
  "an expiry that is no time": { expires: new Date(NaN) },
  "Enterprise with a number out of bounds": { plan: "enterprise", perMinute: 0, perDay: 5 },
  "a label that is too long": { label: "x".repeat(65) },
  "a label with a key in it": { label: `as_${"a".repeat(43)}` },
  "an expiry in the past": { expires: "2026-11-20" },
};
const secret = `as_${"a".repeat(43)}`;
const odd = [secret, 5n, Symbol("a"), Object.create(null), [secret], { a: secret }] as unknown as string[];

test("Keys.create() rejects wrong options and writes nothing", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  for (const [name, choice] of Object.entries(wrongChoices)) {
    await assert.rejects(store.create(choice), RangeError, name);
  }
  for (const value of odd) {
    const perMinute = value as unknown as number;
    const noSecret = (error: Error): boolean => error instanceof RangeError && !error.message.includes(secret);
    await assert.rejects(store.create({ plan: value as PlanName }), noSecret);
    await assert.rejects(store.create({ plan: "enterprise", perMinute, perDay: 5 }), noSecret);
    await assert.rejects(store.create({ expires: value }), noSecret);
    await assert.rejects(store.create({ [secret]: value }), noSecret);
    await assert.rejects(store.rotate("", { graceSeconds: perMinute }), noSecret);
    await assert.rejects(value === secret ? store.create({ label: `\n${value}` }) : store.create({ label: value }), noSecret);
  }
  assert.deepEqual(await readdir(folder.path), []);
});

test("Keys.create() rejects an id that exists, and the file stays as it was", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open({ randomBytes: (byteCount) => new Uint8Array(byteCount) });
  await store.create();
  const before = await folder.content();
  await assert.rejects(store.create(), /^Error: Cannot create key: generated an id that exists$/);
  assert.equal(await folder.content(), before);
});

const changes: Readonly<Record<string, (store: OpenKeys, id: string) => Promise<unknown>>> = {
  revoke: (store, id) => store.revoke(id),
  change: (store, id) => store.plan(id, { plan: "pro" }),
  label: (store, id) => store.label(id, "shop"),
  expire: (store, id) => store.expire(id, "never"),
  rotate: (store, id) => store.rotate(id),
  unban: (store, id) => store.unban(id),
  reset: (store, id) => store.reset(id),
};

for (const [verb, change] of Object.entries(changes)) {
  test(`Keys refuses to ${verb} an unknown key`, async (context) => {
    const folder = new KeyFolder(context);
    const message = new RegExp(`^Cannot ${verb} key: no key has the id "${unknownId}"$`);
    await assert.rejects(change(await folder.open(), unknownId), keyError("unknown_key", message));
    assert.deepEqual(await readdir(folder.path), []);
  });

  test(`Keys does not repeat a secret that was given as the id to ${verb}`, async (context) => {
    const folder = new KeyFolder(context);
    const store = await folder.open();
    const { key } = await store.create();
    const message = new RegExp(`^Cannot ${verb} key: not the id of a key `);
    await assert.rejects(change(store, key), keyError("unknown_key", message));
  });

  if (verb !== "revoke") {
    test(`Keys refuses to ${verb} a revoked key`, async (context) => {
      const folder = new KeyFolder(context);
      const store = await folder.open();
      const { id } = await store.create();
      await store.revoke(id);
      const message = new RegExp(`^Cannot ${verb} key: ${id} is revoked$`);
      await assert.rejects(change(store, id), keyError("revoked_key", message));
      assert.equal((await folder.lines()).length, 2);
    });
  }
}

test("Keys.plan() and rotate() refuse what is no object of their options, and change nothing", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create({ plan: "pro" });
  const before = (await store.list())[0];
  for (const options of ["business", {}, { name: "business" }, { plan: "pro", label: "x" }, undefined, null]) {
    await assert.rejects(store.plan(id, options as { plan: PlanName }), RangeError);
  }
  for (const options of [600, "600", { grace: 600 }, null]) {
    await assert.rejects(store.rotate(id, options as object), RangeError);
  }
  assert.deepEqual((await store.list())[0], before);
});

test("Keys.expire() refuses what create() refuses as an expiry, and writes nothing", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create({ expires: "2027-01-31" });
  const before = await folder.content();
  for (const expires of ["soon", "2026-11-20", "", "2027-02-30", new Date(NaN), undefined, null, 1e15, ...odd]) {
    const noSecret = (error: Error): boolean => error instanceof RangeError && !error.message.includes(secret);
    await assert.rejects(store.expire(id, expires as string), noSecret);
  }
  assert.equal(await folder.content(), before);
});

test("Keys.rotate() accepts a grace period from 0 seconds to a year", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create();
  for (const graceSeconds of [-1, 0.5, Number.NaN, graceSecondsMax + 1]) {
    await assert.rejects(store.rotate(id, { graceSeconds }), /^RangeError: Cannot rotate key: grace must be/);
  }
  for (const graceSeconds of [0, 1, graceSecondsMax]) {
    await store.rotate(id, { graceSeconds });
  }
});

test("Keys.rotate() rejects an expired key", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create({ expires: "2026-11-21T12:00:01Z" });
  folder.clock.advance(999);
  await store.rotate(id);
  folder.clock.advance(1);
  await assert.rejects(store.rotate(id), keyError("expired_key", /^Cannot rotate key: .* has expired/));
});

test("KeyFile.open() treats an empty or torn file as existing, and reports that it has no keys", async (context) => {
  const folder = new KeyFolder(context);
  await (await folder.open()).create();
  const [made = ""] = await folder.lines();
  const faults = { "": /is empty/, [made.slice(0, 1)]: /^the last byte of .* is an/, [made.slice(0, -1)]: /^the last \d+ bytes of / };
  for (const [content, fault] of Object.entries(faults)) {
    await folder.overwrite(content);
    folder.reports.length = 0;
    const store = await folder.open();
    assert.equal(store.exists, true, JSON.stringify(content));
    assert.equal(folder.reports.length, 1);
    assert.match(folder.reports[0] ?? "", fault);
    assert.match(folder.reports[0] ?? "", /there are no keys/);
    const { id, key } = await store.create();
    assert.equal(ask(await folder.open(), key), id);
  }
});

test("Keys.unban() and reset() call onGrant once each, when the change is durable", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create();
  await store.unban(id);
  await store.reset(id);
  await folder.open();
  assert.deepEqual(folder.grants, [`unban ${id}`, `reset ${id}`]);
});

test("Keys makes a change at the time of whoever decides, however wrong the clock is of whoever asks", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id, key } = await store.create();
  const timeMs = folder.clock.wallMs();
  const year = 365 * 86_400_000;
  await store.change({ event: "rotated", timeMs: timeMs + year, id, sha256: "0".repeat(64), graceUntilMs: timeMs + year + 1_000 });
  folder.clock.advance(999);
  assert.equal(ask(store, key), id);
  folder.clock.advance(1);
  assert.equal(ask(store, key), "invalid");
  await store.change({ event: "revoked", timeMs: timeMs - year, id });
  assert.equal(store.keyring.get(id)?.revokedMs, folder.clock.wallMs());
});

test("Keys refuses an event that would make its log unreadable, and writes nothing", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id, key } = await store.create();
  const other = await store.create();
  const before = await folder.content();
  const sha256 = createHash("sha256").update(key).digest("hex");
  const timeMs = folder.clock.wallMs();
  const made = { timeMs, sha256, plan: createPlan("free"), label: undefined, expiresMs: undefined, isReadOnly: false };
  await assert.rejects(store.change({ event: "made", id: unknownId, ...made }), /Cannot create key: the secret of another key was made again/);
  await assert.rejects(store.change({ event: "rotated", id: other.id, timeMs, sha256, graceUntilMs: timeMs }), /its secret was made before/);
  await assert.rejects(store.change({ event: "made", id, ...made, sha256: "1".repeat(64) }), /generated an id that exists/);
  assert.equal(await folder.content(), before);
});

test("KeyCommands.close() waits for the change under way, and no other can begin", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const making = store.create();
  await store.close();
  const { id } = await making;
  await assert.rejects(store.revoke(id), /^Error: Cannot change keys: the service is closed$/);
  assert.equal((await folder.lines()).length, 1);
});
