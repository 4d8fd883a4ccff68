/** The catalogue in the database. Requests that wait share statements; in-doubt.ts stores each of their writes once. */

import { performance } from "node:perf_hooks";

import { Batcher } from "../base/batcher.ts";
import type { Clock } from "../base/clock.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { batchLength } from "../pets/add-in-batches.ts";
import {
  type ChangeOutcome, IdempotencyConflictError, type PetPage, type PetQuery, type PetStore, type PetVersion,
  petVersionMax, type Refusal, type RemovalOutcome, StorageUnavailableError, type StoredPet,
} from "../pets/pet-store.ts";
import { type NewPet, newPetToJson, type Pet, type PetChange, petToJson } from "../pets/pet.ts";
import { outcomeFor, type Preconditions } from "../pets/precondition.ts";
import { type Database, whyNotWait } from "./database.ts";
import { type Commit, Commits, type CommitsOptions } from "./in-doubt.ts";
import { changeToJson, petOf, type PetRow, type ResultRow } from "./pet-columns.ts";
import { answerOf } from "./pool.ts";

interface Addition {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

/** A replay has the animal that the first request added, which may be another one than was sent. */
type Added = StoredPet & { readonly isReplay: boolean };

interface Change {
  readonly id: number;
  readonly change: PetChange | "removal";
  readonly preconditions: Preconditions;
  readonly hash: string | undefined;
}

/** What came of a change. "known": an earlier request had its hash, and left the animal so, unless it was a create. */
type Outcome =
  | { readonly kind: "changed"; readonly pet: ResultRow }
  | { readonly kind: "known"; readonly pet: ResultRow | null }
  | { readonly kind: "mismatch"; readonly pet: PetRow }
  | { readonly kind: "absent" | "exhausted" };

type Changed = { readonly kind: "changed"; readonly row: ResultRow; readonly isReplay: boolean } | Refusal;

const getsMax = 500;
/** The most changes in a statement, which writes a row for each while it locks the counter. So many take 10 ms. */
const changesMax = 100;
/** The most animals in the lists of one statement: about 1 MB, so that a slow network brings them in time. */
const listedMax = 1_000;
/** Lists that took longer make the next statement have fewer, down to one: others' long transactions slow them down. */
const slowMs = 300;

// An empty text stands for no hash, or no status: a setting of the database may turn a null in an array into a text.
const addText = "SELECT animal_store.add($1, $2, array_replace($3::text[], '', NULL))::text AS answer";
const changeText =
  "SELECT animal_store.change($1, $2, $3, $4, $5, array_replace($6::text[], '', NULL))::text AS answer";

export class PostgresPetStore implements PetStore {
  readonly #database: Database;
  readonly #commits: Commits;
  readonly #serial = { concurrency: 1, refusal: (count: number) => whyNotWait(this.#database, count) };
  readonly #adds = new Batcher((items: readonly Addition[]) => this.#addAll(items), {
    ...this.#serial,
    sizeMax: () => batchLength,
  });
  readonly #changes = new Batcher((items: readonly Change[]) => this.#changeAll(items), {
    ...this.#serial,
    sizeMax: () => changesMax,
  });
  readonly #gets = new Batcher((ids: readonly number[]) => this.#get(ids), { ...this.#serial, sizeMax: () => getsMax });
  readonly #lists = new Batcher((queries: readonly PetQuery[]) => this.#list(queries), {
    ...this.#serial,
    concurrency: 2,
    sizeMax: () => this.#listedMax,
    sizeOf: ({ limit }) => limit,
  });
  #listedMax = listedMax;
  readonly #waitingLists = new Map<string, Promise<PetPage>>();
  /** The adds, changes and removals under way. */
  readonly #storing = new Set<Promise<unknown>>();
  #isClosing = false;

  constructor(database: Database, clock: Clock, options?: CommitsOptions) {
    this.#database = database;
    this.#commits = new Commits(database, clock, options);
  }

  add(newPet: NewPet, hash?: string): Promise<StoredPet> {
    return this.#store(() => this.#add(newPet, hash));
  }

  change(id: number, change: PetChange, preconditions: Preconditions, hash?: string): Promise<ChangeOutcome> {
    return this.#store(async () => {
      const outcome = await this.#change({ id, change, preconditions, hash });
      if (outcome.kind !== "changed") {
        return outcome;
      }
      const { kind, row, isReplay } = outcome;
      return { kind, json: textOf(row), version: row[4] ?? undefined, isReplay };
    });
  }

  remove(id: number, preconditions: Preconditions, hash?: string): Promise<RemovalOutcome> {
    return this.#store(async () => {
      const outcome = await this.#change({ id, change: "removal", preconditions, hash });
      return outcome.kind === "changed" ? { kind: "removed", isReplay: outcome.isReplay } : outcome;
    });
  }

  async get(id: number): Promise<PetVersion | undefined> {
    const row = await this.#gets.add(id);
    return row && { json: textOf(row), version: row[4] };
  }

  /** Equal lists that wait share one result. */
  list(query: PetQuery): Promise<PetPage> {
    const key = keyOf(query);
    const waiting = this.#waitingLists.get(key);
    if (waiting !== undefined) {
      return waiting;
    }
    const list = this.#lists.add(query).finally(() => {
      if (this.#waitingLists.get(key) === list) {
        this.#waitingLists.delete(key); // The list was refused before it was sent.
      }
    });
    this.#waitingLists.set(key, list);
    return list;
  }

  isWritable(): boolean {
    return !this.#isClosing && this.#database.isAvailable;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#storing);
  }

  async #store<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#isClosing) {
      throw new StorageUnavailableError("the service is stopping");
    }
    const storing = run();
    this.#storing.add(storing);
    try {
      return await storing;
    } finally {
      this.#storing.delete(storing);
    }
  }

  async #add(newPet: NewPet, hash: string | undefined): Promise<StoredPet> {
    const { id, json, isReplay } = await this.#adds.add({ newPet, hash });
    if (isReplay && json !== petToJson({ id, ...newPet })) {
      throw conflict();
    }
    return { id, json, isReplay };
  }

  /** Reads the animal first, unless this may be a replay: one that is absent, or not as it must be, needs no write. */
  async #change(wanted: Change): Promise<Changed> {
    const { id, change, preconditions, hash } = wanted;
    if (hash === undefined) {
      const row = await this.#gets.add(id);
      if (row === undefined || outcomeFor(preconditions, row[3], row[4]) !== "proceed") {
        return row === undefined ? { kind: "absent" } : mismatchOf(row);
      }
    }
    const outcome = await this.#changes.add(wanted);
    switch (outcome.kind) {
      case "changed":
        return { kind: "changed", row: outcome.pet, isReplay: false };
      case "known":
        if (outcome.pet === null || outcome.pet[0] !== id || !isResult(outcome.pet, change)) {
          throw conflict();
        }
        return { kind: "changed", row: outcome.pet, isReplay: true };
      case "mismatch":
        return mismatchOf(outcome.pet);
      case "absent":
        return { kind: "absent" };
      case "exhausted":
        throw new StorageUnavailableError(`animal ${id} has its last version, ${petVersionMax}`);
    }
  }

  #addAll(items: readonly Addition[]): Promise<readonly MaybePromise<Added>[]> {
    const values = [
      `[${items.map(({ newPet }) => newPetToJson(newPet)).join()}]`,
      items.map(({ hash }) => hash ?? ""),
    ];
    return this.#commits.store(addText, values, items, addedOf);
  }

  #changeAll(items: readonly Change[]): Promise<readonly MaybePromise<Outcome>[]> {
    const values = [
      items.map(({ id }) => id),
      items.map(({ change }) => changeToJson(change)),
      items.map(({ preconditions }) => preconditions.match.join(" ")),
      items.map(({ preconditions }) => preconditions.noneMatch.join(" ")),
      items.map(({ hash }) => hash ?? ""),
    ];
    return this.#commits.store(changeText, values, items, (_items, { replays }: Commit<readonly Outcome[]>) => replays);
  }

  async #get(ids: readonly number[]): Promise<readonly (PetRow | undefined)[]> {
    // The ids are numbers, so nothing has to be quoted.
    const text = `SELECT animal_store.get('{${ids.join()}}')::text AS answer`;
    const answer = await this.#database.read(text).then(answerOf, readFailed);
    const rows = answer as readonly PetRow[] | null;
    const pets = new Map(rows?.map((row) => [row[0], row]));
    return ids.map((id) => pets.get(id));
  }

  /** Reads one animal more than a page holds, which shows whether there is a next page. */
  async #list(queries: readonly PetQuery[]): Promise<readonly MaybePromise<PetPage>[]> {
    queries.forEach((query) => this.#waitingLists.delete(keyOf(query)));
    const [afters, lengths] = [queries.map(({ after }) => after), queries.map(({ limit }) => limit + 1)];
    const statuses = queries.map(({ status }) => (status === undefined ? "NULL" : `'${status}'`)).join();
    const categories = queries.map(({ categoryId }) => categoryId ?? "NULL").join();
    // The values are numbers and known words alone, so nothing has to be quoted.
    const arrays = `ARRAY[${statuses}]::text[], ARRAY[${categories}]::bigint[]`;
    const values = `'{${afters.join()}}', '{${lengths.join()}}', ${arrays}`;
    const text = `SELECT animal_store.list(${values})::text AS answer`;
    const startMs = performance.now();
    const answer = this.#database.read(text).then(answerOf, readFailed).finally(() => {
      const isSlow = performance.now() - startMs > slowMs;
      this.#listedMax = isSlow ? Math.ceil(this.#listedMax / 4) : Math.min(2 * this.#listedMax, listedMax);
    });
    const pages = (await answer) as readonly (readonly PetRow[] | null | false)[];
    return pages.map(async (rows, index) => {
      if (rows === false) {
        throw new StorageUnavailableError("the index for categories is being built");
      }
      return pageOf(rows ?? [], queries[index]!.limit); // One for each query.
    });
  }
}

function readFailed(error: unknown): never {
  throw new StorageUnavailableError("the database cannot be read", { cause: error });
}

function keyOf(query: PetQuery): string {
  return Object.entries(query).join();
}

function conflict(): IdempotencyConflictError {
  return new IdempotencyConflictError("the idempotency hash belongs to another request");
}

/** Gives ids to the items that are no replays, in their order: the last one gets `last`. */
function addedOf(
  items: readonly Addition[],
  { last, replays }: Commit<Readonly<Record<string, ResultRow>> | null>,
): readonly Added[] {
  let id = Number(last) - (items.length - Object.keys(replays ?? {}).length);
  return items.map(({ newPet }, index) => {
    const earlier = replays?.[index + 1];
    if (earlier !== undefined) {
      return { id: earlier[0], json: textOf(earlier), isReplay: true };
    }
    id += 1;
    return { id, json: petToJson({ id, ...newPet }), isReplay: false };
  });
}

function mismatchOf([, , , status, version]: PetRow): Refusal {
  return { kind: "mismatch", status, version };
}

/** Whether an earlier request was a removal, too, or a change that left every value which this one names. */
function isResult(row: ResultRow, change: Change["change"]): boolean {
  const isRemoval = row[3] === "removed";
  if (isRemoval || change === "removal") {
    return isRemoval && change === "removal";
  }
  const left = petOf(row);
  return Object.entries(change).every(([name, value]) => value === undefined || value === left[name as keyof Pet]);
}

function pageOf(rows: readonly PetRow[], limit: number): PetPage {
  const page = rows.slice(0, limit);
  const nextAfter = rows.length > limit ? page.at(-1)?.[0] : undefined;
  return { json: `[${page.map(textOf).join(",")}]`, nextAfter };
}

function textOf(row: ResultRow): string {
  return petToJson(petOf(row));
}
