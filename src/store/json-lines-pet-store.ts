/**
 * The catalogue in memory over its log on disk, `pets.jsonl` (contract, section 7).
 *
 * Opening reads the log once and checks every line. A torn end is set aside; any other damage stops the start with the
 * file as it was. What was read is synced before it is served, so that no reader sees what a loss of power could undo;
 * and as a sync that failed before this start may have left the last group in the kernel's memory only, that is written
 * over with itself first (log/write-again.ts).
 * From then on an animal is appended, synced, put into memory and handed out, in this order.
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
import { readLog } from "../log/reader.ts";
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
import { Catalogue } from "./catalogue.ts";
import { damageText, petFileName, type Torn, tornText } from "./check-pet-log.ts";
import { PetLog } from "./load.ts";
import { createPetLine, encodePetLine, type LineBytes, petLineBytesMax } from "./pet-line.ts";

/** A file is damaged where no crash could have damaged it. */
export class DamagedLogError extends Error {
  override readonly name = "DamagedLogError";
}

export interface PetStoreOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  readonly report: (message: string) => void;
  /** The system's where not given. */
  readonly clock?: Clock | undefined;
  /** Told of each group that came onto the disk. */
  readonly onGroup?: ((times: AppendTimes) => void) | undefined;
}

/** Loading that takes longer than this is told about, and again each such time. */
const progressMs = 2_000;

/** An import hands to the writer so many animals at most, and no more bytes than a group takes, before it waits. */
const importBatchLength = 2_000;
const importBatchBytes = groupBytesMax - petLineBytesMax;
const lineBytesBesideName = petLineBytesMax - nameCodePointsMax * 6;

/**
 * Opens the catalogue of a folder that this process has locked, and makes it where there is none.
 *
 * @throws {DamagedLogError} naming line, byte offset and what is wrong; nothing was changed
 */
export async function openPetStore(options: PetStoreOptions): Promise<JsonLinesPetStore> {
  const { disk, dataDir } = options;
  const path = join(dataDir, petFileName);
  const file = await disk.openToAppend(path);
  try {
    const catalogue = new Catalogue(petStatuses.length);
    const end = await readLog(file, new PetLog(catalogue), {
      tornBytesMax: groupBytesMax,
      onProgress: reportProgress(path, file, options),
    });
    if (end.kind === "corrupt") {
      throw new DamagedLogError(`Cannot start: ${damageText(path, end)}`);
    }
    const prepare = end.kind === "torn" ? await setAside(options, path, file, end) : undefined;
    // No group is longer, so this covers the last one.
    await rewriteTail(disk, path, file, { lengthBytes: end.lengthBytes, bytesMax: groupBytesMax });
    await file.sync();
    await disk.syncFolder(dataDir);
    return new JsonLinesPetStore(catalogue, { ...options, file, lengthBytes: end.lengthBytes, prepare });
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** On a full disk the torn end cannot be copied yet: reads need not wait for that, writes do, with what is returned. */
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
  /** The group that is being written: its lines, each with its start, the end of its text, and its status. */
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
   * Adds many, as durable as one by one, in large groups. `onProgress` is told how many of them, from the first on, are
   * on disk; where this rejects, the ones after those were not added, or as `OutcomeUnknownError` says.
   */
  async addAll(newPets: AsyncIterable<NewPet>, onProgress: (addedCount: number) => void): Promise<void> {
    let batch: NewPet[] = [];
    let batchBytes = 0;
    let addedCount = 0;
    const finish = async (): Promise<void> => {
      // Handed over at once, and they fit: so they are one group, which is added as a whole or not at all.
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
