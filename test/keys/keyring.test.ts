import assert from "node:assert/strict";
import { test } from "node:test";

import type { KeyEvent } from "../../src/keys/key-events.ts";
import { createKeyId, createSecret, digestOf } from "../../src/keys/key.ts";
import { Keyring, fieldsMax } from "../../src/keys/keyring.ts";
import type { Plan } from "../../src/limits/plans.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seededBytes } from "../support/random-bytes.ts";

const free: Plan = createPlan("free");

interface Made {
  readonly id: string;
  readonly secret: string;
  readonly field: string;
}

/** A ring with a clock, and the events that commands would have written. */
class Scene {
  readonly clock: ManualClock = new ManualClock();
  readonly ring: Keyring = new Keyring({ clock: this.clock });
  readonly randomBytes: (byteCount: number) => Uint8Array = seededBytes(7);

  make(options: { expiresInMs?: number } = {}): Made {
    const secret = createSecret(this.randomBytes);
    const id = createKeyId(this.randomBytes);
    const timeMs = this.clock.wallMs();
    const expiresMs = options.expiresInMs === undefined ? undefined : timeMs + options.expiresInMs;
    this.happen({ event: "made", timeMs, id, sha256: digestOf(secret), plan: free, label: undefined, expiresMs, isReadOnly: false });
    return { id, secret, field: `Bearer ${secret}` };
  }

  rotate(id: string, graceMs: number): Made {
    const secret = createSecret(this.randomBytes);
    const timeMs = this.clock.wallMs();
    this.happen({ event: "rotated", timeMs, id, sha256: digestOf(secret), graceUntilMs: timeMs + graceMs });
    return { id, secret, field: `Bearer ${secret}` };
  }

  revoke(id: string): void {
    this.happen({ event: "revoked", timeMs: this.clock.wallMs(), id });
  }

  happen(event: KeyEvent): void {
    assert.equal(this.ring.apply(event), undefined);
  }

  /** The id that the field opens, or the kind of refusal. */
  ask(field: string | undefined): string {
    const result = this.ring.authenticate(field);
    return result.kind === "key" ? result.key.id : result.kind;
  }
}

test("Keyring.authenticate() returns the same for unknown, revoked and expired keys and replaced secrets", () => {
  const scene = new Scene();
  const revoked = scene.make();
  const expired = scene.make({ expiresInMs: 1_000 });
  const rotated = scene.make();
  const unknown = { field: `Bearer ${createSecret(scene.randomBytes)}` };
  scene.revoke(revoked.id);
  scene.rotate(rotated.id, 0);
  scene.clock.advance(1_000);
  const results = [unknown, revoked, expired, rotated].map(({ field }) => scene.ring.authenticate(field));
  assert.deepEqual(results[0], { kind: "invalid" });
  for (const result of results) {
    assert.equal(result, results[0]);
  }
});

test("Keyring.authenticate() rejects old secrets after a rotation without grace, also if the clock steps back", () => {
  const scene = new Scene();
  const first = scene.make();
  const second = scene.rotate(first.id, 60_000);
  const third = scene.rotate(first.id, 0);
  scene.clock.stepWall(-3_600_000);
  assert.deepEqual([first, second, third].map(({ field }) => scene.ask(field)), ["invalid", "invalid", first.id]);
  assert.equal(scene.ring.get(first.id)?.graceUntilMs, undefined);
});

test("Keyring.authenticate() does not let a grace period prolong an earlier one", () => {
  const scene = new Scene();
  const first = scene.make();
  const second = scene.rotate(first.id, 1_000);
  scene.rotate(first.id, 5_000);
  scene.clock.advance(1_000);
  assert.deepEqual([first, second].map(({ field }) => scene.ask(field)), ["invalid", first.id]);
  assert.equal(scene.ring.get(first.id)?.graceUntilMs, scene.clock.wallMs() + 4_000);
});

test("Keyring.authenticate() follows a changed expiry, also of a cached field, and an old secret still ends with its grace", () => {
  const scene = new Scene();
  const old = scene.make({ expiresInMs: 1_000 });
  const renewed = scene.rotate(old.id, 5_000);
  const replaced = scene.rotate(old.id, 0);
  const newest = scene.rotate(old.id, 3_000);
  const fields = [old, renewed, replaced, newest].map(({ field }) => field);
  const askAll = (): readonly string[] => fields.map((field) => scene.ask(field) === old.id ? "works" : "ended");
  const expire = (expiresMs: number | undefined): void =>
    scene.happen({ event: "expiry", timeMs: scene.clock.wallMs(), id: old.id, expiresMs });
  assert.deepEqual(askAll(), ["ended", "ended", "works", "works"]);
  scene.clock.advance(1_000);
  assert.deepEqual(askAll(), ["ended", "ended", "ended", "ended"]);
  expire(scene.clock.wallMs() + 60_000);
  assert.deepEqual(askAll(), ["ended", "ended", "works", "works"]);
  scene.clock.advance(1_999);
  assert.deepEqual(askAll(), ["ended", "ended", "works", "works"]);
  scene.clock.advance(1);
  assert.deepEqual(askAll(), ["ended", "ended", "ended", "works"]);
  expire(scene.clock.wallMs());
  assert.deepEqual(askAll(), ["ended", "ended", "ended", "ended"]);
  expire(undefined);
  assert.deepEqual(askAll(), ["ended", "ended", "ended", "works"]);
});

test("Keyring.apply() revokes a key for the next request, also a cached one and in the grace period", () => {
  const scene = new Scene();
  const old = scene.make();
  const renewed = scene.rotate(old.id, 1_000);
  assert.deepEqual([scene.ask(old.field), scene.ask(renewed.field)], [old.id, old.id]);
  scene.revoke(old.id);
  assert.deepEqual([scene.ask(old.field), scene.ask(renewed.field)], ["invalid", "invalid"]);
});

test("Keyring.authenticate() caches no invalid fields, and no padded ones", () => {
  const scene = new Scene();
  const expired = scene.make({ expiresInMs: 1 });
  const { secret } = scene.make();
  scene.clock.advance(1);
  for (let round = 0; round < 1_000; round += 1) {
    scene.ask(`Bearer ${createSecret(scene.randomBytes)}`);
  }
  scene.ask(expired.field);
  scene.ask(`Bearer  ${secret}`);
  assert.equal(scene.ring.fieldCount, 0);
  scene.ask(`Bearer ${secret}`);
  assert.equal(scene.ring.fieldCount, 1);
});

test("Keyring.authenticate() caches a bounded number of fields, and works beyond it", () => {
  const scene = new Scene();
  const made = Array.from({ length: fieldsMax + 1 }, () => scene.make());
  for (const [index, { id, field }] of made.entries()) {
    assert.equal(scene.ask(field), id);
    assert.equal(scene.ring.fieldCount, index < fieldsMax ? index + 1 : 1);
  }
});

test("Keyring.apply() returns why an event cannot have happened, and changes nothing", () => {
  const scene = new Scene();
  const { id, secret, field } = scene.make();
  const revoked = scene.make();
  scene.revoke(revoked.id);
  const timeMs = scene.clock.wallMs();
  const sha256 = digestOf(createSecret(scene.randomBytes));
  const made = { event: "made", timeMs, plan: free, label: undefined, expiresMs: undefined, isReadOnly: false } as const;
  const faults: readonly (readonly [KeyEvent, RegExp])[] = [
    [{ ...made, id, sha256 }, /was made twice/],
    [{ ...made, id: "key_other", sha256: digestOf(secret) }, /secret of another key was made again/],
    [{ event: "rotated", timeMs, id, sha256: digestOf(secret), graceUntilMs: timeMs }, /its secret was made before/],
    [{ event: "revoked", timeMs, id: "key_other" }, /never made/],
    [{ event: "revoked", timeMs, id: revoked.id }, /had been revoked/],
    [{ event: "rotated", timeMs, id: revoked.id, sha256, graceUntilMs: timeMs }, /had been revoked/],
  ];
  for (const [event, reason] of faults) {
    assert.match(scene.ring.apply(event) ?? "", reason);
  }
  assert.equal(scene.ring.list().length, 2);
  assert.deepEqual([scene.ask(field), scene.ask(revoked.field)], [id, "invalid"]);
});

test("Keyring.takeOver() gives the keys of the other ring and none of its own, also if their fields were cached", () => {
  const scene = new Scene();
  const [first, second] = [scene.make(), scene.make()];
  assert.deepEqual([scene.ask(first.field), scene.ask(second.field)], [first.id, second.id]);
  const other = new Scene(); // Its random numbers are the same, so its first key is equal.
  other.make();
  scene.ring.takeOver(other.ring);
  assert.deepEqual([scene.ask(first.field), scene.ask(second.field)], [first.id, "invalid"]);
  assert.deepEqual(scene.ring.list().map(({ id }) => id), [first.id]);
});

test("Keyring.authenticate() tells an unknown key from a wrong one while keys made elsewhere cannot be read", () => {
  const scene = new Scene();
  let isCurrent = false;
  const ring = new Keyring({ clock: scene.clock, isCurrent: () => isCurrent });
  const unknown = scene.make().field;
  const kinds = (): string[] => [unknown, "Bearer as_wrong", undefined].map((field) => ring.authenticate(field).kind);
  assert.deepEqual(kinds(), ["unavailable", "invalid", "missing"]);
  isCurrent = true;
  assert.deepEqual(kinds(), ["invalid", "invalid", "missing"]);
});
