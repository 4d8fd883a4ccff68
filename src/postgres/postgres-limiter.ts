/**
 * Decides which requests are served, by the limits in the database and on the database's clock. One statement decides
 * all requests that wait; if a key has more than it may, the first ones are served.
 */

import { Batcher } from "../base/batcher.ts";
import type { Clock } from "../base/clock.ts";
import type { Window } from "../limits/window.ts";
import {
  type WallClock, type KeyLimits, type LimitsState, limitsState, quotasOf, refusalOf, statusOf, unusedLimits,
} from "../limits/key-limits.ts";
import type { Decision, Limiter, RateStatus } from "../limits/limiter.ts";
import type { Plan } from "../limits/plans.ts";
import { StorageUnavailableError } from "../pets/pet-store.ts";
import { DatabaseError } from "./database-error.ts";
import { type Database, whyNotWait } from "./database.ts";
import { type LimitsNumbers, limitsOf } from "./limits-table.ts";
import { answerOf } from "./pool.ts";

interface Request {
  readonly keyId: string;
  readonly plan: Plan;
  /** 0 for a request that only reads the limits. */
  readonly tokens: 0 | 1;
}

/** The limits of a key, and the plan that the batch applied, which may have just changed. */
interface Decided {
  readonly isAllowed: boolean;
  readonly state: LimitsState;
}

/** The requests of one key in a batch, by their places in it. */
interface KeyBatch {
  readonly places: number[];
  plan: Plan;
  asked: number;
}

/** The answer of `take` in functions.ts. */
interface Answer {
  readonly keys: readonly string[];
  readonly limits: readonly (readonly [granted: number, nowMs: number, ...limits: LimitsNumbers])[];
}

const batchRequestsMax = 1_000;
/** How many keys' limits are remembered, in about 4 MB, to be shown while the database is away. */
const lastKnownMax = 10_000;

const unixWallClock: WallClock = { unixSeconds: (unixMs) => Math.ceil(unixMs / 1_000) };

const takeText = "SELECT animal_store.take($1, $2, $3, $4)::text AS answer";

export class PostgresLimiter implements Limiter {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #batcher = new Batcher<Request, Decided | undefined>((requests) => this.#decide(requests), {
    concurrency: 1,
    sizeMax: () => batchRequestsMax,
    refusal: (count) => whyNotWait(this.#database, count),
  });
  readonly #lastKnown = new Map<string, KeyLimits>();
  /** The bans that this instance has set off since it started. Only this class changes the number. */
  banCount = 0;

  /** @param clock for the status shown while the database is away; everything else follows the database's clock */
  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async take(keyId: string, plan: Plan): Promise<Decision> {
    const decided = await this.#ask({ keyId, plan, tokens: 1 });
    if (decided === undefined) {
      return { kind: "unavailable", ...this.#lastStatus(keyId, plan) };
    }
    const { isAllowed, state } = decided;
    return isAllowed
      ? { kind: "allowed", ...statusOf(state, unixWallClock), quotas: () => quotasOf(state, unixWallClock) }
      : refusalOf(state, unixWallClock);
  }

  async peek(keyId: string, plan: Plan): Promise<RateStatus> {
    const decided = await this.#ask({ keyId, plan, tokens: 0 });
    return decided === undefined ? this.#lastStatus(keyId, plan) : statusOf(decided.state, unixWallClock);
  }

  /** Returns undefined if the database fails. It is not asked again, because that might take two tokens. */
  async #ask(request: Request): Promise<Decided | undefined> {
    try {
      let decided: Decided | undefined;
      do {
        decided = await this.#batcher.add(request);
      } while (decided === undefined); // Then the key had no row, and the statement has made it.
      return decided;
    } catch (error) {
      if (error instanceof DatabaseError || error instanceof StorageUnavailableError) {
        return undefined;
      }
      throw error;
    }
  }

  #lastStatus(keyId: string, plan: Plan): RateStatus {
    const limits = this.#lastKnown.get(keyId) ?? unusedLimits();
    return statusOf(limitsState(limits, plan, this.#clock.wallMs()), unixWallClock);
  }

  /** Returns undefined for each request that has to be decided again. */
  async #decide(requests: readonly Request[]): Promise<readonly (Decided | undefined)[]> {
    const batches = new Map<string, KeyBatch>();
    requests.forEach(({ keyId, plan, tokens }, place) => {
      const batch = batches.get(keyId) ?? { places: [], plan, asked: 0 };
      batches.set(keyId, batch);
      batch.places.push(place);
      batch.plan = plan; // If the key's plan has just changed, the later request has the new one.
      batch.asked += tokens;
    });
    const columns = [...batches.values()];
    const rows = await this.#database.run(takeText, [
      [...batches.keys()],
      columns.map(({ asked }) => asked),
      columns.map(({ plan }) => plan.perMinute),
      columns.map(({ plan }) => plan.perDay),
    ]);
    const results = new Array<Decided | undefined>(requests.length);
    const answer = answerOf(rows) as Answer;
    for (const [index, keyId] of answer.keys.entries()) {
      const [granted, nowMs, ...numbers] = answer.limits[index]!; // One for each key.
      const { places, plan, asked } = batches.get(keyId)!; // Each key that was asked for has a row.
      if (nowMs === 0) {
        continue;
      }
      const limits = limitsOf(numbers);
      this.#remember(keyId, limits, granted < asked ? nowMs : undefined);
      // Each request gets the limits as they were right after it was decided.
      let left = granted;
      for (const place of places) {
        const isAllowed = requests[place]?.tokens === 1 && left > 0;
        left -= isAllowed ? 1 : 0;
        const state = limitsState(isAllowed ? withTokens(limits, left) : limits, plan, nowMs);
        results[place] = { isAllowed, state };
      }
    }
    return results;
  }

  /** @param refusedMs when requests were refused; undefined if none were */
  #remember(keyId: string, limits: KeyLimits, refusedMs: number | undefined): void {
    const { untilMs, durationMs } = limits.ban;
    if (untilMs - durationMs === refusedMs && untilMs !== this.#lastKnown.get(keyId)?.ban.untilMs) {
      this.banCount += 1;
    }
    if (this.#lastKnown.size >= lastKnownMax && !this.#lastKnown.has(keyId)) {
      this.#lastKnown.clear();
    }
    this.#lastKnown.set(keyId, limits);
  }
}

/** The limits as they were before the last `tokens` of them were taken. */
function withTokens({ minute, day, ban, lastMs }: KeyLimits, tokens: number): KeyLimits {
  const before = ({ used, endsMs }: Window): Window => ({ used: used - tokens, endsMs });
  return { minute: before(minute), day: before(day), ban, lastMs };
}
