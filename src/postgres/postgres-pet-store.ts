/** The catalogue in the database. */

import { performance } from "node:perf_hooks";

import { Batcher } from "../base/batcher.ts";
import type { Clock } from "../base/clock.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { batchLength } from "../pets/add-in-batches.ts";
import {
  type ChangeOutcome, IdempotencyConflictError, type JsonText, type PetPage, type PetQuery, type PetStore,
  type StatusChange, StorageUnavailableError, type StoredPet,
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

/** A replay may be of another animal than was sent. */
type Added = StoredPet & { readonly isReplay: boolean };

interface Change {
  /** As it was read before. */
  readonly pet: PetRow;
  readonly change: StatusChange;
  readonly hash: string | undefined;
}

type Changed = ChangeOutcome | { readonly kind: "conflict" };

/** What came of a change that stored nothing: a status is a mismatch. */
type Verdict = "replay" | "conflict" | "absent" | PetStatus;

const getsMax = 500;
/** A statement writes a row for each change while it holds the counter: 100 of them take 10 ms. */
const changesMax = 100;
/** Animals in the lists of a statement: at most about 1 MB, so that a slow network brings them in time. */
const listedMax = 1_000;
/** While a long transaction of others is open, a list may take long. Then a statement has fewer, down to one. */
const slowMs = 300;

// An empty text stands for no hash, or no status: a setting of the database may make a text of a null in an array.
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
  /** The adds and changes under way. */
  readonly #storing = new Set<Promise<StoredPet | ChangeOutcome>>();
  #isClosing = false;

  constructor(database: Database, clock: Clock, options?: CommitsOptions) {
    this.#database = database;
    this.#commits = new Commits(database, clock, options);
  }

  add(newPet: NewPet, hash?: string): Promise<StoredPet> {
    return this.#store(() => this.#add(newPet, hash));
  }

  changeStatus(id: number, change: StatusChange, hash?: string): Promise<ChangeOutcome> {
    return this.#store(() => this.#change(id, change, hash));
  }

  async get(id: number): Promise<JsonText | undefined> {
    const pet = await this.#gets.add(id);
    return pet && textOf(pet);
  }

  /** Joins an equal one that waits, too. */
  list(query: PetQuery): Promise<PetPage> {
    const key = keyOf(query);
    const waiting = this.#waitingLists.get(key);
    if (waiting !== undefined) {
      return waiting;
    }
    const list = this.#lists.add(query).finally(() => {
      if (this.#waitingLists.get(key) === list) {
        this.#waitingLists.delete(key); // It was refused before it was sent.
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

  async #store<Result extends StoredPet | ChangeOutcome>(run: () => Promise<Result>): Promise<Result> {
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

  /** Reads the animal first: what is not there, or has another status, needs no write unless it may be a replay. */
  async #change(id: number, change: StatusChange, hash: string | undefined): Promise<ChangeOutcome> {
    const pet = await this.#gets.add(id);
    if (pet === undefined) {
      return { kind: "absent" };
    }
    const status = pet[3];
    if (hash === undefined && !change.from.includes(status)) {
      return { kind: "mismatch", status };
    }
    const outcome = await this.#changes.add({ pet, change, hash });
    if (outcome.kind === "conflict") {
      throw conflict();
    }
    return outcome;
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
      items.map(({ pet: [id] }) => id),
      items.map(({ change }) => change.status),
      items.map(({ change }) => change.from.join(" ")),
      items.map(({ hash }) => hash ?? ""),
    ];
    return this.#commits.store(changeText, values, items, changedOf);
  }

  async #get(ids: readonly number[]): Promise<readonly (PetRow | undefined)[]> {
    // Numbers alone: nothing has to be quoted.
    const text = `SELECT animal_store.get('{${ids.join()}}')::text AS answer`;
    const answer = await this.#database.read(text).then(answerOf, readFailed);
    const rows = answer as readonly PetRow[] | null;
    const pets = new Map(rows?.map((row) => [row[0], row]));
    return ids.map((id) => pets.get(id));
  }

  /** One animal more than a page holds shows whether there is a next page. */
  async #list(queries: readonly PetQuery[]): Promise<readonly PetPage[]> {
    queries.forEach((query) => this.#waitingLists.delete(keyOf(query)));
    const [afters, lengths] = [queries.map(({ after }) => after), queries.map(({ limit }) => limit + 1)];
    const statuses = queries.map(({ status }) => (status === undefined ? "NULL" : `'${status}'`)).join();
    // Numbers and known words alone: nothing has to be quoted.
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

function keyOf({ after, limit, status }: PetQuery): string {
  return `${after} ${limit} ${status ?? ""}`;
}

function conflict(): IdempotencyConflictError {
  return new IdempotencyConflictError("the idempotency hash belongs to another request");
}

/** The ids are those up to `last`, in the order of the items, without the replays. */
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

function changedOf(items: readonly Change[], { replays }: Commit<Verdict>): readonly Changed[] {
  return items.map(({ pet, change: { status } }, index) => {
    const verdict = replays?.[index + 1];
    switch (verdict) {
      case undefined:
      case "replay":
        return { kind: "changed", json: petToJson({ ...petOf(pet), status }), isReplay: verdict === "replay" };
      case "absent":
      case "conflict":
        return { kind: verdict };
      default:
        return { kind: "mismatch", status: verdict };
    }
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
