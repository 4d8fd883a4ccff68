/**
 * The catalogue in memory over its log on disk, `pets.jsonl`.
 *
 * Opening reads the log once and checks every line. A torn tail is set aside. Any other damage stops the start and
 * leaves the file as it was. What was read is synced before it is served, so that no reader sees what a loss of power
 * could undo. A sync that failed before this start may have left the last group in the kernel's memory only, so that
 * group is rewritten first (`rewriteTail`).
 *
 * From then on an animal is appended, synced, put into memory and returned, in this order.
 */

import { join } from "node:path";

import { type Clock, systemClock } from "../disk/clock.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import {
  type EncodedGroup,
  groupBytesMax,
  GroupWriter,
  type GroupWriterOptions,
} from "../log/group-writer.ts";
import type { AppendTimes, WriteFailure } from "../log/appender.ts";
import { viewOf } from "../log/checksum.ts";
import { rewriteTail, setTornTailAside } from "../log/torn-tail.ts";

import {
  type JsonText,
  OutcomeUnknownError,
  type PetPage,
  type PetQuery,
  type PetStore,
  StorageUnavailableError,
  type StoredPet,
} from "../pets/pet-store.ts";
import { nameCodePointsMax, type NewPet, petStatuses, petToJson } from "../pets/pet.ts";
import type { Catalogue } from "./catalogue.ts";
import { damageText, loadPets, petFileName, type Torn, tornText } from "./load.ts";
import { createPetLine, encodePetLine, type LineBytes, petLineBytesMax } from "./pet-line.ts";

/** A file is damaged in a way that no crash damages files. */
export class DamagedLogError extends Error {
  override readonly name = "DamagedLogError";
}

export interface PetStoreOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  readonly report: (message: string) => void;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Called after each group that is on disk. */
  readonly onGroup?: ((times: AppendTimes) => void) | undefined;
  /** Ends the loading: opening rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A load that takes longer reports its progress, each time that so long has passed. */
const progressMs = 2_000;

/** An import adds at most so many animals, and at most the bytes of a group, before it waits. */
const importBatchLength = 2_000;
const importBatchBytes = groupBytesMax - petLineBytesMax;
const lineBytesBesideName = petLineBytesMax - nameCodePointsMax * 6;

/**
 * Opens the catalogue of a folder that this process has locked. Makes it if there is none.
 *
 * @throws {DamagedLogError} naming line, byte offset and what is wrong; nothing was changed
 */
export async function openPetStore(options: PetStoreOptions): Promise<JsonLinesPetStore> {
  const { disk, dataDir } = options;
  const path = join(dataDir, petFileName);
  const file = await disk.openToAppend(path);
  try {
    const { catalogue, end } = await loadPets(file, {
      onProgress: reportProgress(path, file, options),
      signal: options.signal,
    });
    if (end.kind === "corrupt") {
      throw new DamagedLogError(`Cannot start: ${damageText(path, end)}`);
    }
    const prepare = end.kind === "torn" ? await setAside(options, path, file, end) : undefined;
    // No group is longer, so this includes the last one.
    await rewriteTail(disk, path, file, { lengthBytes: end.lengthBytes, bytesMax: groupBytesMax });
    await file.sync();
    await disk.syncFolder(dataDir);
    return new JsonLinesPetStore(catalogue, { ...options, file, lengthBytes: end.lengthBytes, prepare });
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * On a full disk the torn tail cannot be copied. Reads do not wait for that. Writes do, and call the function that is
 * returned.
 */
async function setAside(
  { disk, report }: PetStoreOptions,
  path: string,
  file: DiskFile,
  end: Torn,
): Promise<(() => Promise<void>) | undefined> {
  const run = async (): Promise<void> => {
    const aside = await setTornTailAside(disk, path, file, end.lengthBytes);
    report(`warning: ${tornText(path, end)}; they were moved to ${aside}, and the rest is served`);
  };
  try {
    await run();
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report(`warning: ${tornText(path, end)}; they cannot be moved (${reason}), and until then no animal can be added`);
    return run;
  }
}

function reportProgress(
  path: string,
  file: DiskFile,
  { report, clock = systemClock }: PetStoreOptions,
): (bytesRead: number) => void {
  const totalBytes = file.size();
  let nextMs = clock.monotonicMs() + progressMs;
  return (bytesRead) => {
    const nowMs = clock.monotonicMs();
    if (nowMs >= nextMs) {
      nextMs = nowMs + progressMs;
      report(`loading ${path}: ${Math.floor((bytesRead / totalBytes) * 100)} %`);
    }
  };
}

interface WrittenGroup extends LineBytes {
  readonly lines: { readonly start: number; readonly textEnd: number; readonly statusIndex: number }[];
}

export class JsonLinesPetStore implements PetStore {
  readonly #catalogue: Catalogue;
  readonly #file: DiskFile;
  readonly #writer: GroupWriter<NewPet, StoredPet>;
  /** The group that is being written. */
  #group: WrittenGroup = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)), lines: [] };
  #closing: Promise<void> | undefined;

  constructor(catalogue: Catalogue, options: GroupWriterOptions) {
    this.#catalogue = catalogue;
    this.#file = options.file;
    const owner = {
      encode: (waiting: readonly { readonly item: NewPet }[], bytes: Buffer) => this.#encode(waiting, bytes),
      publish: () => this.#publish(),
      errorOf: ({ kind, reason }: WriteFailure) =>
        kind === "absent" ? new StorageUnavailableError(reason) : new OutcomeUnknownError(reason),
    };
    this.#writer = new GroupWriter(owner, options);
  }

  get animalCount(): number {
    return this.#catalogue.count;
  }

  get logBytes(): number {
    return this.#writer.lengthBytes;
  }

  add(newPet: NewPet): Promise<StoredPet> {
    return this.#writer.add(newPet);
  }

  /**
   * Adds many, as durable as one by one, in large groups. `onProgress` gets how many of them, from the first on, are on
   * disk. If this rejects, the ones after those were not added, or with `OutcomeUnknownError` may have been.
   */
  async addAll(newPets: AsyncIterable<NewPet>, onProgress: (addedCount: number) => void): Promise<void> {
    let batch: NewPet[] = [];
    let batchBytes = 0;
    let addedCount = 0;
    const finish = async (): Promise<void> => {
      // Added at once, and they fit into one group, which is added as a whole or not at all.
      await Promise.all(batch.map((newPet) => this.add(newPet)));
      addedCount += batch.length;
      batch = [];
      batchBytes = 0;
      onProgress(addedCount);
    };
    for await (const newPet of newPets) {
      const lineBytes = newPet.name.length * 6 + lineBytesBesideName;
      if (batch.length === importBatchLength || batchBytes + lineBytes > importBatchBytes) {
        await finish();
      }
      batch.push(newPet);
      batchBytes += lineBytes;
    }
    if (batch.length > 0) {
      await finish();
    }
  }

  get(id: number): JsonText | undefined {
    return this.#catalogue.get(id);
  }

  list({ after, limit, status }: PetQuery): PetPage {
    return this.#catalogue.page(after, limit, status === undefined ? undefined : petStatuses.indexOf(status));
  }

  isWritable(): boolean {
    return this.#writer.isWritable;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writer.end("the service is stopping");
    await this.#file.close();
  }

  #encode(waiting: readonly { readonly item: NewPet }[], bytes: Buffer): EncodedGroup<StoredPet> {
    const line = createPetLine();
    const firstId = this.#catalogue.count + 1;
    line.group = firstId;
    const results: StoredPet[] = [];
    const group: WrittenGroup = { bytes, view: viewOf(bytes), lines: [] };
    this.#group = group;
    let end = 0;
    for (const { item } of waiting) {
      if (end + petLineBytesMax > bytes.length) {
        break;
      }
      const id = firstId + results.length;
      const { name, categoryId, status } = item;
      const json = petToJson({ id, name, categoryId, status }); // { ...item, id } took 300 ns.
      const start = end;
      end = encodePetLine(group, start, json, line);
      group.lines.push({ start, textEnd: line.textEnd, statusIndex: petStatuses.indexOf(status) });
      results.push({ id, json });
    }
    return { byteCount: end, results };
  }

  #publish(): void {
    const { view, lines } = this.#group;
    for (const { start, textEnd, statusIndex } of lines) {
      this.#catalogue.append(view, start, textEnd, statusIndex);
    }
  }
}
