/**
 * Stores each batch once, whatever becomes of the database's answers.
 *
 * A batch carries a random id that is stored with it. If the answer is lost, the id alone is stored once more: if it is
 * new, the batch was not stored and never will be. If not, the row of the id says what came of the batch.
 */

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers";

import { bounds } from "../base/bounds.ts";
import type { Clock } from "../base/clock.ts";
import type { Report } from "../base/report.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";
import { DatabaseError } from "./database-error.ts";
import { type Database, decisionMs } from "./database.ts";
import { answerOf, type Row } from "./pool.ts";

/** What came of a batch. If it was not stored and never will be, `last` is null. */
export interface Commit<Replays> {
  /** The last id in the catalogue. */
  readonly last: number | null;
  /** What the function says of the items. */
  readonly replays: Replays;
}

/** For so long a missing commit proves that its batch was not stored. Later a purge may have removed it. */
const commitMs = 1_800_000;

/** How long a batch may stay in doubt after a stop began, so that there is time left to send its responses. */
const stopDecisionMs = bounds.stopMs - 2_000;

const decideText = "SELECT animal_store.decide_commit($1)::text AS answer";

export interface CommitsOptions {
  /** Takes a line if the database has lost animals that were confirmed. */
  readonly report?: Report;
  /** Aborted when the server begins to stop. */
  readonly stopping?: AbortSignal | undefined;
}

export class Commits {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #report: Report;
  /** The highest id that this instance has confirmed. */
  #lastId = 0;
  /** Resolves when a stop has no time left for decisions. */
  readonly #stopEnd: Promise<undefined>;

  constructor(database: Database, clock: Clock, { report = () => undefined, stopping }: CommitsOptions = {}) {
    this.#database = database;
    this.#clock = clock;
    this.#report = report;
    this.#stopEnd = new Promise((resolve) => {
      stopping?.addEventListener("abort", () => setTimeout(resolve, stopDecisionMs, undefined));
    });
  }

  /**
   * Stores a batch, and resolves to the result of each item. A batch in doubt is decided while the next one is sent, so
   * that others do not wait for it.
   * @param text a statement whose first value is the commit's id, followed by `values`
   * @throws {StorageUnavailableError} nothing was stored
   */
  async store<Item, Replays, Result>(
    text: string,
    values: readonly unknown[],
    items: readonly Item[],
    resultsOf: (items: readonly Item[], commit: Commit<Replays>) => readonly Result[],
  ): Promise<readonly MaybePromise<Result>[]> {
    const id = randomUUID();
    const knownId = this.#lastId;
    const take = (commit: Commit<Replays>): readonly Result[] => {
      this.#noteLast(Number(commit.last), knownId);
      return resultsOf(items, commit);
    };
    const sentMs = this.#clock.wallMs(); // Unlike the monotonic clock, it goes on while the machine sleeps.
    let rows: readonly Row[];
    try {
      rows = await this.#database.run(text, [id, ...values]);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.effect === "none") {
        throw notStored(error);
      }
      const deciding = this.#decide<Replays>(id, sentMs, error).then(take);
      return items.map(async (_item, index) => (await deciding)[index]!); // It has a result for each item.
    }
    return take(answerOf(rows) as Commit<Replays>);
  }

  /** @param knownId the last id that had been confirmed when the batch was sent: the database had it by then */
  #noteLast(last: number, knownId: number): void {
    if (last < knownId && last < this.#lastId) {
      const loss = `animals up to ${knownId} were confirmed, and the database has them up to ${last} only`;
      const advice = "a failover or a restore lost the others, and may have undone revocations of keys";
      this.#report(`${loss}: ${advice}`, "warning");
      this.#lastId = last; // So the loss is reported once.
    }
    this.#lastId = Math.max(this.#lastId, last);
  }

  /** Finds out what became of a batch. @throws {StorageUnavailableError} @throws {OutcomeUnknownError} */
  async #decide<Replays>(id: string, sentMs: number, cause: unknown): Promise<Commit<Replays>> {
    const deciding = this.#database.retryUntil(decideText, [id], AbortSignal.timeout(decisionMs));
    const rows = await Promise.race([deciding, this.#stopEnd]);
    const commit = rows && (answerOf(rows) as Commit<Replays>);
    if (commit !== undefined && commit.last !== null) {
      return commit;
    }
    if (commit !== undefined && Math.abs(this.#clock.wallMs() - sentMs) < commitMs) {
      throw notStored(cause);
    }
    throw new OutcomeUnknownError("the answer of the database was lost", { cause });
  }
}

function notStored(cause: unknown): StorageUnavailableError {
  return new StorageUnavailableError("the database stored nothing", { cause });
}
