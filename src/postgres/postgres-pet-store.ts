/**
 * The catalogue in the database.
 *
 * A batch of creates carries a random id that is stored with it. If the answer is lost, storing that id once more
 * decides: if it is new, the batch was not stored and never will be. If not, the row says which ids the batch got.
 */

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers";

import { bounds } from "../base/bounds.ts";
import type { Clock } from "../base/clock.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import type { JsonText, PetPage, PetQuery, PetStore, StoredPet } from "../pets/pet-store.ts";
import { IdempotencyConflictError, OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";
import { type NewPet, petToJson, type PetStatus } from "../pets/pet.ts";
import { batchLength } from "../store/add-in-batches.ts";
import { RequestsInProgress } from "../store/requests-in-progress.ts";
import { Batcher } from "./batcher.ts";
import { type Database, decisionMs } from "./database.ts";
import { DatabaseError } from "./database-error.ts";
import { answerOf, type Row } from "./pool.ts";

interface Item {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

/** A replay may be of another animal than was sent. */
type Added = StoredPet & { readonly isReplay: boolean };

/** A batch that was stored, or given up: then `last` is null. */
interface Commit {
  readonly last: number | null;
  readonly replays: Readonly<Record<string, PetRow>> | null;
}

type PetRow = readonly [id: number, name: string, categoryId: string, status: PetStatus];

const getsMax = 500;
/** Animals in the lists of a statement: at most about 1 MB, so that a slow network brings them in time. */
const listedMax = 1_000;

/** A purge removes the commit of a batch after an hour. So if this process was paused, a missing one proves nothing. */
const commitMs = 1_800_000;

/** How long a create may stay in doubt after a stop began: 2 s are left to send its response. */
const stopDecisionMs = bounds.stopMs - 2_000;

// An empty text stands for no hash, or no status: a setting of the database may make a text of a null in an array.
const addText = "SELECT animal_store.add($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer";
const decideText = "SELECT animal_store.decide_commit($1)::text AS answer";
const getText = "SELECT animal_store.get($1)::text AS answer";
const listText = "SELECT animal_store.list($1, $2, array_replace($3::text[], '', NULL))::text AS answer";

export class PostgresPetStore implements PetStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #inProgress = new RequestsInProgress();
  readonly #creates = new Batcher((items: readonly Item[]) => this.#add(items), { lanes: 1, sizeMax: batchLength });
  readonly #gets = new Batcher((ids: readonly number[]) => this.#get(ids), { lanes: 1, sizeMax: getsMax });
  readonly #lists = new Batcher((queries: readonly PetQuery[]) => this.#list(queries), {
    lanes: 2,
    sizeMax: listedMax,
    sizeOf: ({ limit }) => limit,
  });
  /** Resolves when a stop has no time left for decisions. */
  readonly #stopEnd: Promise<undefined>;
  /** The adds under way. */
  readonly #adding = new Set<Promise<StoredPet>>();
  #isClosing = false;

  /** @param stopping aborted when the server begins to stop */
  constructor(database: Database, clock: Clock, stopping?: AbortSignal) {
    this.#database = database;
    this.#clock = clock;
    this.#stopEnd = new Promise((resolve) => {
      stopping?.addEventListener("abort", () => setTimeout(resolve, stopDecisionMs, undefined));
    });
  }

  async add(newPet: NewPet, hash?: string): Promise<StoredPet> {
    if (this.#isClosing) {
      throw new StorageUnavailableError("the service is stopping");
    }
    const add = (): Promise<StoredPet> => this.#addOne({ newPet, hash });
    const adding = hash === undefined ? add() : this.#inProgress.share(hash, petToJson({ id: 0, ...newPet }), add);
    this.#adding.add(adding);
    try {
      return await adding;
    } finally {
      this.#adding.delete(adding);
    }
  }

  get(id: number): Promise<JsonText | undefined> {
    return this.#gets.add(id);
  }

  list(query: PetQuery): Promise<PetPage> {
    return this.#lists.add(query);
  }

  isWritable(): boolean {
    return !this.#isClosing && this.#database.isAvailable;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#adding);
  }

  async #addOne(item: Item): Promise<StoredPet> {
    const { id, json, isReplay } = await this.#creates.add(item);
    if (isReplay && json !== petToJson({ id, ...item.newPet })) {
      throw new IdempotencyConflictError("the idempotency hash belongs to another animal");
    }
    return { id, json, isReplay };
  }

  /** A batch in doubt is decided while the next one is sent, so that other creates do not wait for it. */
  async #add(items: readonly Item[]): Promise<readonly MaybePromise<Added>[]> {
    const commitId = randomUUID();
    const sentMs = this.#clock.wallMs(); // Unlike the monotonic clock it goes on while a machine sleeps.
    const values = [
      commitId,
      items.map(({ newPet }) => newPet.name),
      items.map(({ newPet }) => String(newPet.categoryId)),
      items.map(({ newPet }) => newPet.status),
      items.map(({ hash }) => hash ?? ""),
    ];
    let rows: readonly Row[];
    try {
      rows = await this.#database.run(addText, values);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.effect === "none") {
        throw notStored(error);
      }
      const deciding = this.#decide(items, commitId, sentMs, error);
      return items.map(async (_item, index) => (await deciding)[index]!); // One for each item.
    }
    return addedOf(items, answerOf(rows) as Commit);
  }

  /** Finds out what became of a batch. @throws {StorageUnavailableError} @throws {OutcomeUnknownError} */
  async #decide(items: readonly Item[], commitId: string, sentMs: number, cause: unknown): Promise<readonly Added[]> {
    const deciding = this.#database.insist(decideText, [commitId], AbortSignal.timeout(decisionMs));
    const rows = await Promise.race([deciding, this.#stopEnd]);
    const commit = rows && (answerOf(rows) as Commit);
    if (commit !== undefined && commit.last !== null) {
      return addedOf(items, commit);
    }
    if (commit !== undefined && Math.abs(this.#clock.wallMs() - sentMs) < commitMs) {
      throw notStored(cause);
    }
    throw new OutcomeUnknownError("the answer of the database was lost", { cause });
  }

  async #get(ids: readonly number[]): Promise<readonly (string | undefined)[]> {
    const rows = (await this.#read(getText, [ids])) as readonly PetRow[] | null;
    const texts = new Map(rows?.map((row) => [row[0], textOf(row)]));
    return ids.map((id) => texts.get(id));
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

function notStored(cause: unknown): StorageUnavailableError {
  return new StorageUnavailableError("the database did not store the animal", { cause });
}

/** The ids are those up to `last`, in the order of the items, without the replays. */
function addedOf(items: readonly Item[], { last, replays }: Commit): readonly Added[] {
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

function pageOf(rows: readonly PetRow[], limit: number): PetPage {
  const page = rows.slice(0, limit);
  const nextAfter = rows.length > limit ? page.at(-1)?.[0] : undefined;
  return { json: `[${page.map(textOf).join(",")}]`, nextAfter };
}

function textOf([id, name, categoryId, status]: PetRow): string {
  return petToJson({ id, name, categoryId: BigInt(categoryId), status });
}
