/**
 * Goal: no order of requests, waits, plan changes, unbans, resets, restarts and clock steps makes the limiter say anything but
 * what the model says. Method: worlds of a few hundred random steps with two keys; each decision is compared, whole,
 * with that of a model that keeps every instant and goes through all of them.
 *
 * LIMITS_STEPS sets how many steps (50,000 by default), SEED which.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { decodeSnapshot, restoreLimits, snapshotPieces } from "../../src/folder/limits-file.ts";
import type { Allowed, Refusal } from "../../src/limits/limiter.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { createPlan } from "../../src/limits/plans.ts";
import type { Plan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seeded } from "../support/seeded-random.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { KeyModel } from "./limits-model.ts";
import type { Expected } from "./limits-model.ts";

const stepCount = Number(process.env["LIMITS_STEPS"] ?? 50_000);
const stepsPerWorld = 300;

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Small quotas are used up often, and equal ones tie. */
const plans: readonly Plan[] = [
  createPlan("free"),
  createPlan("enterprise", { perMinute: 1, perDay: 1 }),
  createPlan("enterprise", { perMinute: 2, perDay: 5 }),
  createPlan("enterprise", { perMinute: 3, perDay: 3 }),
  createPlan("enterprise", { perMinute: 5, perDay: 12 }),
  createPlan("enterprise", { perMinute: 7, perDay: 4 }),
];

/** The shortest are the shortest steps that are noticed. */
const clockSteps: readonly number[] = [hour, -hour, 365 * day, -365 * day, 2 * second, -2 * second, 500, -500, 2, -2];

interface Key {
  readonly id: string;
  readonly model: KeyModel;
  plan: Plan;
  /** The whole seconds that the last refusal asked for; 0 when the last request was served. */
  retryAfterSeconds: number;
}

class World {
  stepsLeft: number = stepsPerWorld;
  readonly #random: SeededRandom;
  readonly #keys: readonly Key[];
  #clock: ManualClock;
  #limiter: MemoryLimiter;
  /** The model's clock, which never steps. */
  #nowMs = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#clock = this.#newClock(Date.UTC(2026, 10, 21, 12, 0, 0, random.integer(0, 999)));
    this.#limiter = new MemoryLimiter({ clock: this.#clock });
    this.#keys = ["one", "other"].map((id) => {
      return { id, model: new KeyModel(), plan: random.pick(plans), retryAfterSeconds: 0 };
    });
  }

  step(): void {
    const key = this.#random.pick(this.#keys);
    const steps: readonly (() => void)[] = [
      () => this.#requestAtOnce(key, this.#random.integer(1, key.plan.perMinute + 3)),
      () => this.#hammer(key),
      () => this.#waitAsTold(key),
      () => this.#waitASecondLess(key),
      () => this.#wait(this.#random.integer(0, 2 * second)),
      () => this.#wait(this.#random.pick([second, minute, 5 * minute, hour, day]) + this.#random.integer(-1, 1)),
      () => void (key.plan = this.#random.pick(plans)),
      () => this.#clock.stepWall(this.#random.pick(clockSteps)),
      () => this.#restart(0),
      () => this.#restart(this.#random.pick(clockSteps)),
      () => this.#unban(key),
      () => this.#reset(key),
      () => this.#peek(key),
    ];
    // Requests are more frequent than other steps.
    this.#random.pick([...steps, ...steps.slice(0, 5), ...steps.slice(0, 3)])();
    this.stepsLeft--;
  }

  #request(key: Key): Allowed | Refusal {
    this.stepsLeft--;
    const expected = key.model.request(this.#nowMs, key.plan);
    const decision = this.#limiter.take(key.id, key.plan);
    const { quotas: _quotas, ...numbers } = { quotas: undefined, ...decision };
    assert.deepEqual(numbers, this.#inWords(expected));
    key.retryAfterSeconds = decision.kind === "allowed" ? 0 : decision.retryAfterSeconds;
    return decision;
  }

  #requestAtOnce(key: Key, count: number): void {
    for (let index = 0; index < count; index++) {
      this.#request(key);
    }
  }

  /** Goes on after each 429, faster or slower than once a second. */
  #hammer(key: Key): void {
    const pauseMs = this.#random.pick([100, 999, second, 1_001, 1_500]);
    for (let index = 0; index < 14; index++) {
      this.#request(key);
      this.#wait(pauseMs + this.#random.integer(-1, 1));
    }
  }

  /** A client that waits exactly as long as Retry-After says is served. */
  #waitAsTold(key: Key): void {
    if (this.#isRefused(key)) {
      this.#wait(key.retryAfterSeconds * second);
      assert.equal(this.#request(key).kind, "allowed");
    }
  }

  #waitASecondLess(key: Key): void {
    if (this.#isRefused(key) && key.retryAfterSeconds > 1) {
      this.#wait((key.retryAfterSeconds - 1) * second);
      assert.notEqual(this.#request(key).kind, "allowed");
    }
  }

  /** Sends a request, because plan and time may have changed since the last refusal. */
  #isRefused(key: Key): boolean {
    return this.#request(key).kind !== "allowed";
  }

  #wait(durationMs: number): void {
    this.#clock.advance(durationMs);
    this.#nowMs += durationMs;
  }

  #unban(key: Key): void {
    this.#limiter.unban(key.id);
    key.model.unban(this.#nowMs);
  }

  #reset(key: Key): void {
    this.#limiter.reset(key.id);
    key.model.reset();
  }

  #peek(key: Key): void {
    const { limit, remaining, resetMs } = key.model.look(this.#nowMs, key.plan);
    const expected = { limit, remaining, resetSeconds: this.#resetSeconds(resetMs) };
    assert.deepEqual(this.#limiter.peek(key.id, key.plan), expected);
    const { minute: minuteStatus, day: dayStatus } = this.#limiter.quotas(key.id, key.plan);
    // A ban shows 0 left, and the end of the ban; otherwise one of the two is the one that is shown.
    const isShown = [minuteStatus, dayStatus].some((status) => isDeepStrictEqual(status, expected));
    assert.ok(isShown || remaining === 0);
    assert.ok(Math.min(minuteStatus.remaining, dayStatus.remaining) >= remaining);
  }

  /**
   * A new process reads what the old one wrote. Its monotonic clock begins elsewhere, so the time between is what the
   * wall clock says, and none where that was set back. A key may have been reset once the old one had written.
   */
  #restart(clockStepMs: number): void {
    const saved = decodeSnapshot(Buffer.from([...snapshotPieces(this.#limiter)].join("")));
    assert.ok(typeof saved !== "string", `it ${String(saved)}`);
    const downMs = this.#random.integer(0, 5 * second) + clockStepMs;
    this.#clock = this.#newClock(this.#clock.wallMs() + downMs);
    this.#nowMs += Math.max(0, downMs);
    this.#limiter = new MemoryLimiter({ clock: this.#clock });
    restoreLimits(this.#limiter, saved);
  }

  /** A machine that has been up for a while, with a fraction that whole milliseconds leave off. */
  #newClock(wallMs: number): ManualClock {
    return new ManualClock({ wallMs, monotonicMs: this.#random.integer(0, 1_000_000_000) + 0.75 });
  }

  #inWords({ kind, limit, remaining, resetMs, waitUntilMs, waitsFor }: Expected): Allowed | Refusal {
    const status = { limit, remaining, resetSeconds: this.#resetSeconds(resetMs) };
    if (kind === "allowed" || waitsFor === undefined) {
      return { kind: "allowed", ...status };
    }
    return { kind, ...status, waitsFor, retryAfterSeconds: Math.ceil(((waitUntilMs ?? NaN) - this.#nowMs) / second) };
  }

  #resetSeconds(resetMs: number): number {
    return Math.ceil((this.#clock.wallMs() + resetMs - this.#nowMs) / second);
  }
}

test(
  `MemoryLimiter decides as the naive model does, over ${stepCount} steps`,
  seeded((random) => {
    for (let stepsLeft = stepCount; stepsLeft > 0; stepsLeft -= stepsPerWorld) {
      const world = new World(random);
      while (world.stepsLeft > 0) {
        world.step();
      }
    }
  }),
);
