/**
 * The pet store of a data folder: the catalogue in memory over its log on disk, `pets.jsonl`.
 *
 * Opening reads the log once and checks every line. A torn tail is set aside. Any other damage stops the start and
 * leaves the file as it was. What was read is synced before it is served, so that no reader sees what a loss of power
 * could undo (`settleEnd`).
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { type Clock, reportProgress, systemClock } from "../base/clock.ts";
import { checkWhole } from "../disk/atomic-folder.ts";
import type { Disk } from "../disk/disk.ts";
import { Appender, type AppendTimes } from "../log/appender.ts";
import type { Chunk } from "../log/chunks.ts";
import { type EncodedGroup, groupBytesMax, GroupWriter } from "../log/group-writer.ts";
import { damageText } from "../log/reader.ts";
import { settleEnd } from "../log/settle-end.ts";
import {
  type ChangeOutcome, IdempotencyConflictError, OutcomeUnknownError, type PetPage, type PetQuery, type PetStore,
  type PetVersion, petVersionMax, type RemovalOutcome, StorageUnavailableError, type StoredPet,
} from "../pets/pet-store.ts";
import { correctedText, type NewPet, type PetChange, petStatuses, petToJson } from "../pets/pet.ts";
import type { Preconditions } from "../pets/precondition.ts";
import { Catalogue } from "./catalogue.ts";
import { categoryOf } from "./category-index.ts";
import { IdempotencyHashes } from "./idempotency-hashes.ts";
import { seedBytes, type StoredRequest } from "./idempotency-table.ts";
import { loadPets, petFileName } from "./load-pets.ts";
import {
  changedOutcome, type GroupItem, isCorrection, type ItemResult, PetGroup, refusalOf, stateOf, type WantedChange,
} from "./pet-group.ts";
import { removedIndex } from "./pet-line.ts";

/** A file is damaged in a way that no crash causes. */
export class DamagedLogError extends Error {
  override readonly name = "DamagedLogError";
}

/** @internal */
export interface PetStoreOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  readonly report: (message: string) => void;
  readonly clock?: Clock | undefined;
  readonly onGroup?: ((times: AppendTimes) => void) | undefined;
  /** Ends the opening: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @internal Opens the catalogue of a folder that this process has locked. Makes it if there is none.
 * @throws {DamagedLogError} naming line, byte offset and what is wrong; nothing was changed
 * @throws {Error} the end of the log cannot be settled
 */
export async function openPetStore(options: PetStoreOptions): Promise<JsonLinesPetStore> {
  const { disk, dataDir, report, clock = systemClock } = options;
  await checkWhole(disk, dataDir);
  const path = join(dataDir, petFileName);
  const file = await disk.openToAppend(path);
  const hashes = new IdempotencyHashes(clock, randomBytes(seedBytes));
  try {
    const catalogue = new Catalogue(petStatuses);
    const onProgress = reportProgress(clock, report, `loading ${path}`, file.size());
    const end = await loadPets(file, catalogue, { hashes, onProgress, signal: options.signal });
    if (end.kind === "corrupt") {
      throw new DamagedLogError(`Cannot start: ${damageText(path, end)}`);
    }
    await catalogue.indexCategories();
    await settleEnd({ disk, path, file, end, groupBytesMax, tornEffect: "the rest is served", report });
    const appender = new Appender({ file, path, lengthBytes: end.lengthBytes, report, clock });
    return new JsonLinesPetStore(catalogue, hashes, appender, end.lineCount, options.onGroup);
  } catch (error) {
    await file.close();
    throw error;
  }
}

type Exhausted = Extract<ItemResult, { readonly kind: "exhausted" }>;

/** @internal */
export class JsonLinesPetStore implements PetStore {
  readonly #catalogue: Catalogue;
  readonly #hashes: IdempotencyHashes;
  readonly #appender: Appender;
  readonly #writer: GroupWriter<GroupItem, ItemResult>;
  /** How many of the file's lines readers see. */
  #lineCount: number;
  #closing: Promise<void> | undefined;

  constructor(
    catalogue: Catalogue,
    hashes: IdempotencyHashes,
    appender: Appender,
    lineCount: number,
    onGroup: (times: AppendTimes) => void = () => undefined,
  ) {
    this.#catalogue = catalogue;
    this.#hashes = hashes;
    this.#appender = appender;
    this.#lineCount = lineCount;
    this.#writer = new GroupWriter<GroupItem, ItemResult>({
      encode: (waiting, chunk) => this.#encode(waiting, chunk),
      errorOf: ({ kind, reason }) => new (kind === "absent" ? StorageUnavailableError : OutcomeUnknownError)(reason),
    }, appender, onGroup);
  }

  get animalCount(): number {
    return this.#catalogue.count;
  }

  /** How many animals have each status. */
  get animalCounts(): Record<string, number> {
    return Object.fromEntries(petStatuses.map((status, index) => [status, this.#catalogue.countOf(index)]));
  }

  get logBytes(): number {
    return this.#appender.lengthBytes;
  }

  get isWriteFailing(): boolean {
    return this.#appender.isFailing || !this.#writer.isWritable;
  }

  add(newPet: NewPet, idempotencyHash?: string): Promise<StoredPet> {
    const earlier = idempotencyHash === undefined ? undefined : this.#hashes.find(idempotencyHash);
    if (earlier === undefined) {
      return this.#write({ kind: "add", newPet, idempotencyHash });
    }
    const { id, isChange, statusIndex, version } = earlier;
    const json = petToJson({ id, ...newPet });
    if (isChange || json !== this.#catalogue.getAsOf(id, statusIndex, version)) {
      return Promise.reject(new IdempotencyConflictError("the idempotency hash belongs to another request"));
    }
    return Promise.resolve({ id, json, isReplay: true });
  }

  change(
    id: number,
    change: PetChange,
    preconditions: Preconditions,
    idempotencyHash?: string,
  ): Promise<ChangeOutcome> {
    return this.#change<ChangeOutcome>({ id, change, preconditions, idempotencyHash });
  }

  remove(id: number, preconditions: Preconditions, idempotencyHash?: string): Promise<RemovalOutcome> {
    return this.#change<RemovalOutcome>({ id, change: "removal", preconditions, idempotencyHash });
  }

  async #change<Outcome extends ChangeOutcome | RemovalOutcome>(wanted: WantedChange): Promise<Outcome> {
    const { id, change, preconditions, idempotencyHash } = wanted;
    const wasGiven = id <= this.#catalogue.lastId;
    const earlier = wasGiven && idempotencyHash !== undefined ? this.#hashes.find(idempotencyHash) : undefined;
    if (earlier === undefined) {
      // What readers see is on disk, so it refuses a change without a write.
      const refusal = refusalOf(stateOf(this.#catalogue, id), preconditions);
      const outcome = refusal ?? (await this.#write<Outcome | Exhausted>({ kind: "change", ...wanted }));
      if (outcome.kind === "exhausted") {
        throw new StorageUnavailableError(`animal ${id} has its last version, ${petVersionMax}`);
      }
      return outcome as Outcome;
    }
    if (earlier.id !== id || !this.#isResult(earlier, change)) {
      throw new IdempotencyConflictError("the idempotency hash belongs to another request");
    }
    return { ...changedOutcome(this.#catalogue, id, earlier), isReplay: true } as Outcome;
  }

  /** Whether the earlier request was a removal, too, or a change that left every value which this one names. */
  #isResult({ id, isChange, statusIndex, version }: StoredRequest, change: WantedChange["change"]): boolean {
    if (!isChange || change === "removal" || statusIndex === removedIndex) {
      return isChange && change === "removal" && statusIndex === removedIndex;
    }
    const text = isCorrection(change) ? this.#catalogue.textOf(id, version) : "";
    const hasStatus = change.status === undefined || change.status === petStatuses[statusIndex];
    return hasStatus && (text === "" || correctedText(text, change) === text);
  }

  get(id: number): PetVersion | undefined {
    const json = this.#catalogue.get(id);
    return json === undefined ? undefined : { json, version: this.#catalogue.versionOf(id) };
  }

  list({ after, limit, status, categoryId }: PetQuery): PetPage {
    const statusIndex = status === undefined ? undefined : petStatuses.indexOf(status);
    const category = categoryId === undefined ? undefined : categoryOf(categoryId);
    return this.#catalogue.page(after, limit, statusIndex, category);
  }

  isWritable(): boolean {
    return this.#writer.isWritable;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#writer.close("the service is stopping"));
  }

  #write<Written extends ItemResult>(item: GroupItem): Promise<Written> {
    return this.#writer.add(item) as Promise<Written>; // Every kind of item has results of one type.
  }

  #encode(waiting: readonly GroupItem[], chunk: Chunk): EncodedGroup<ItemResult> {
    const group = new PetGroup(this.#catalogue, chunk, this.#lineCount + 1, this.#hashes.wallSeconds);
    const results: ItemResult[] = [];
    for (const item of waiting) {
      if (!group.hasRoom) {
        break;
      }
      results.push(group.take(item));
    }
    const publish = (): void => {
      group.publish(this.#hashes);
      this.#lineCount += group.lineCount;
    };
    return { byteCount: group.byteCount, results, publish };
  }
}
