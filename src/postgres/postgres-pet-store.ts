/** The catalogue in the database. Requests that wait share statements; in-doubt.ts stores each of their writes once. */

import { performance } from "node:perf_hooks";

import { Batcher } from "../base/batcher.ts";
import type { Clock } from "../base/clock.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { batchLength } from "../pets/add-in-batches.ts";
import {
  type ChangeOutcome, IdempotencyConflictError, type JsonText, type PetPage, type PetQuery, type PetStore,
  type Removal, type RemovalOutcome, type StatusChange, StorageUnavailableError, type StoredPet,
} from "../pets/pet-store.ts";
import { type NewPet, newPetToJson, type PetStatus, petToJson } from "../pets/pet.ts";
import { type Database, whyNotWait } from "./database.ts";
import { type Commit, Commits, type CommitsOptions } from "./in-doubt.ts";
import { petOf, type PetRow } from "./pet-columns.ts";
import { answerOf } from "./pool.ts";

interface Addition {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

/** A replay has the animal that the first request added, which may be another one than was sent. */
type Added = StoredPet & { readonly isReplay: boolean };

interface Change {
  readonly id: number;
  /** The animal as it was read before the change; undefined if it was absent. */
  readonly pet: PetRow | undefined;
  readonly status: PetStatus | "removed";
  readonly from: readonly PetStatus[];
  readonly hash: string | undefined;
}

type Changed = ChangeOutcome | RemovalOutcome | { readonly kind: "conflict" };

/** What came of a change that stored nothing. A status is that of an animal that the preconditions do not allow. */
type Verdict = "replay" | "conflict" | "absent" | PetStatus;

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
  "SELECT animal_store.change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer";

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

  changeStatus(id: number, { status, from }: StatusChange, hash?: string): Promise<ChangeOutcome> {
    return this.#store(() => this.#change<ChangeOutcome>({ id, status, from, hash }));
  }

  remove(id: number, { from }: Removal, hash?: string): Promise<RemovalOutcome> {
    return this.#store(() => this.#change<RemovalOutcome>({ id, status: "removed", from, hash }));
  }

  async get(id: number): Promise<JsonText | undefined> {
    const pet = await this.#gets.add(id);
    return pet && textOf(pet);
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

  /** Reads the animal first: one that is absent or has another status needs no write, unless this may be a replay. */
  async #change<Outcome extends ChangeOutcome | RemovalOutcome>(wanted: Omit<Change, "pet">): Promise<Outcome> {
    const { id, from, hash } = wanted;
    const pet = await this.#gets.add(id);
    const refusal = pet === undefined ? absent : ({ kind: "mismatch", status: pet[3] } as const);
    if (hash === undefined && (pet === undefined || !from.includes(pet[3]))) {
      return refusal as Outcome;
    }
    const outcome = await this.#changes.add({ ...wanted, pet });
    if (outcome.kind === "conflict") {
      throw conflict();
    }
    return outcome as Outcome; // A removal and a change have outcomes of their own.
  }

  #addAll(items: readonly Addition[]): Promise<readonly MaybePromise<Added>[]> {
    const values = [
      `[${items.map(({ newPet }) => newPetToJson(newPet)).join()}]`,
      items.map(({ hash }) => hash ?? ""),
    ];
    return this.#commits.store(addText, values, items, addedOf);
  }

  #changeAll(items: readonly Change[]): Promise<readonly MaybePromise<Changed>[]> {
    const values = [
      items.map(({ id }) => id),
      items.map(({ status }) => status),
      items.map(({ pet, from }) => (pet === undefined ? "" : from.join(" "))), // An absent one may be a replay.
      items.map(({ hash }) => hash ?? ""),
    ];
    return this.#commits.store(changeText, values, items, changedOf);
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
  async #list(queries: readonly PetQuery[]): Promise<readonly PetPage[]> {
    queries.forEach((query) => this.#waitingLists.delete(keyOf(query)));
    const [afters, lengths] = [queries.map(({ after }) => after), queries.map(({ limit }) => limit + 1)];
    const statuses = queries.map(({ status }) => (status === undefined ? "NULL" : `'${status}'`)).join();
    // The values are numbers and known words alone, so nothing has to be quoted.
    const values = `'{${afters.join()}}', '{${lengths.join()}}', ARRAY[${statuses}]::text[]`;
    const text = `SELECT animal_store.list(${values})::text AS answer`;
    const startMs = performance.now();
    const answer = this.#database.read(text).then(answerOf, readFailed).finally(() => {
      const isSlow = performance.now() - startMs > slowMs;
      this.#listedMax = isSlow ? Math.ceil(this.#listedMax / 4) : Math.min(2 * this.#listedMax, listedMax);
    });
    const pages = (await answer) as readonly (readonly PetRow[] | null)[];
    return pages.map((rows, index) => pageOf(rows ?? [], queries[index]!.limit)); // One for each query.
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
function addedOf(items: readonly Addition[], { last, replays }: Commit<PetRow>): readonly Added[] {
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

const absent = { kind: "absent" } as const;

function changedOf(items: readonly Change[], { replays }: Commit<Verdict | PetRow>): readonly Changed[] {
  return items.map(({ pet, status }, index) => {
    const verdict = replays?.[index + 1] as Verdict | undefined;
    // An animal that was changed, and removed since, has a second entry: how it was added.
    const row = pet ?? (replays?.[`${index + 1} added`] as PetRow | undefined);
    if (verdict === "conflict" || verdict === "absent") {
      return { kind: verdict };
    }
    if (row === undefined) {
      return absent;
    }
    if (verdict !== undefined && verdict !== "replay") {
      return { kind: "mismatch", status: verdict };
    }
    const isReplay = verdict === "replay";
    return status === "removed"
      ? { kind: "removed", isReplay }
      : { kind: "changed", json: petToJson({ ...petOf(row), status }), isReplay };
  });
}

function pageOf(rows: readonly PetRow[], limit: number): PetPage {
  const page = rows.slice(0, limit);
  const nextAfter = rows.length > limit ? page.at(-1)?.[0] : undefined;
  return { json: `[${page.map(textOf).join(",")}]`, nextAfter };
}

function textOf(row: PetRow): string {
  return petToJson(petOf(row));
}
