/** The catalogue in the database. */

import type { Clock } from "../base/clock.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import type {
  ChangeOutcome,
  JsonText,
  PetPage,
  PetQuery,
  PetStore,
  StatusChange,
  StoredPet,
} from "../pets/pet-store.ts";
import { IdempotencyConflictError, StorageUnavailableError } from "../pets/pet-store.ts";
import { type NewPet, petToJson, type PetStatus } from "../pets/pet.ts";
import { batchLength } from "../pets/add-in-batches.ts";
import { RequestsInProgress } from "../pets/shared-outcomes.ts";
import { Batcher } from "./batcher.ts";
import { type Commit, Commits } from "./commits.ts";
import type { Database } from "./database.ts";
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

type PetRow = readonly [id: number, name: string, categoryId: string, status: PetStatus];

const getsMax = 500;
/** A statement writes a row for each change while it holds the counter: 100 of them take 10 ms. */
const changesMax = 100;
/** Animals in the lists of a statement: at most about 1 MB, so that a slow network brings them in time. */
const listedMax = 1_000;

// An empty text stands for no hash, or no status: a setting of the database may make a text of a null in an array.
const addText = "SELECT animal_store.add($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer";
const changeText =
  "SELECT animal_store.change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer";
const getText = "SELECT animal_store.get($1)::text AS answer";
const listText = "SELECT animal_store.list($1, $2, array_replace($3::text[], '', NULL))::text AS answer";

export class PostgresPetStore implements PetStore {
  readonly #database: Database;
  readonly #commits: Commits;
  readonly #inProgress = new RequestsInProgress();
  readonly #adds = new Batcher((items: readonly Addition[]) => this.#addAll(items), { lanes: 1, sizeMax: batchLength });
  readonly #changes = new Batcher((items: readonly Change[]) => this.#changeAll(items), {
    lanes: 1,
    sizeMax: changesMax,
  });
  readonly #gets = new Batcher((ids: readonly number[]) => this.#get(ids), { lanes: 1, sizeMax: getsMax });
  readonly #lists = new Batcher((queries: readonly PetQuery[]) => this.#list(queries), {
    lanes: 2,
    sizeMax: listedMax,
    sizeOf: ({ limit }) => limit,
  });
  /** The adds and changes under way. */
  readonly #storing = new Set<Promise<StoredPet | ChangeOutcome>>();
  #isClosing = false;

  /** @param stopping aborted when the server begins to stop */
  constructor(database: Database, clock: Clock, stopping?: AbortSignal) {
    this.#database = database;
    this.#commits = new Commits(database, clock, stopping);
  }

  add(newPet: NewPet, hash?: string): Promise<StoredPet> {
    return this.#store(hash, petToJson({ id: 0, ...newPet }), () => this.#add(newPet, hash));
  }

  changeStatus(id: number, change: StatusChange, hash?: string): Promise<ChangeOutcome> {
    return this.#store(hash, `${id} ${change.status}`, () => this.#change(id, change, hash));
  }

  async get(id: number): Promise<JsonText | undefined> {
    const pet = await this.#gets.add(id);
    return pet && textOf(pet);
  }

  list(query: PetQuery): Promise<PetPage> {
    return this.#lists.add(query);
  }

  isWritable(): boolean {
    return !this.#isClosing && this.#database.isAvailable;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#storing);
  }

  /** @param content the same for equal requests only */
  async #store<Result extends StoredPet | ChangeOutcome>(
    hash: string | undefined,
    content: string,
    run: () => Promise<Result>,
  ): Promise<Result> {
    if (this.#isClosing) {
      throw new StorageUnavailableError("the service is stopping");
    }
    const storing = hash === undefined ? run() : this.#inProgress.share(hash, content, run);
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
      items.map(({ newPet }) => newPet.name),
      items.map(({ newPet }) => String(newPet.categoryId)),
      items.map(({ newPet }) => newPet.status),
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
    const rows = (await this.#read(getText, [ids])) as readonly PetRow[] | null;
    const pets = new Map(rows?.map((row) => [row[0], row]));
    return ids.map((id) => pets.get(id));
  }

  /** One animal more than a page holds shows whether there is a next page. */
  async #list(queries: readonly PetQuery[]): Promise<readonly PetPage[]> {
    const pages = (await this.#read(listText, [
      queries.map(({ after }) => after),
      queries.map(({ limit }) => limit + 1),
      queries.map(({ status }) => status ?? ""),
    ])) as readonly (readonly PetRow[] | null)[];
    return pages.map((rows, index) => pageOf(rows ?? [], queries[index]!.limit)); // One for each query.
  }

  async #read(text: string, values: unknown[]): Promise<unknown> {
    const rows = await this.#database.run(text, values).catch((error: unknown) => {
      throw new StorageUnavailableError("the database cannot be read", { cause: error });
    });
    return answerOf(rows);
  }
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
  return items.map(({ pet: [id, name, categoryId], change: { status } }, index) => {
    const verdict = replays?.[index + 1];
    switch (verdict) {
      case undefined:
      case "replay":
        return { kind: "changed", json: textOf([id, name, categoryId, status]), isReplay: verdict === "replay" };
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

function textOf([id, name, categoryId, status]: PetRow): string {
  return petToJson({ id, name, categoryId: BigInt(categoryId), status });
}
