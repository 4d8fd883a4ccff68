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

import { type Clock, reportProgress, systemClock } from "../base/clock.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { messageOf } from "../base/error-message.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import type { AppendTimes, WriteFailure } from "../log/appender.ts";
import type { Chunk } from "../log/chunks.ts";
import { type EncodedGroup, groupBytesMax, GroupWriter, type GroupWriterOptions } from "../log/group-writer.ts";
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
import { type NewPet, newPetToJson, petStatuses } from "../pets/pet.ts";
import { Catalogue } from "./catalogue.ts";
import { damageText, loadPets, petFileName, type Torn, tornText } from "./load-pets.ts";
import { IdempotentAdds } from "./idempotent-adds.ts";
import { createPetLine, encodePetLine, petLineBytesMax } from "./pet-line.ts";

/** A file is damaged in a way that no crash causes. */
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

/**
 * Opens the catalogue of a folder that this process has locked. Makes it if there is none.
 *
 * @throws {DamagedLogError} naming line, byte offset and what is wrong; nothing was changed
 */
export async function openPetStore(options: PetStoreOptions): Promise<JsonLinesPetStore> {
  const { disk, dataDir, report, clock = systemClock } = options;
  await checkWhole(disk, dataDir);
  const path = join(dataDir, petFileName);
  const file = await disk.openToAppend(path);
  const idempotentAdds = new IdempotentAdds(clock);
  try {
    const totalBytes = file.size();
    const catalogue = new Catalogue(petStatuses.length);
    const end = await loadPets(file, catalogue, {
      idempotentAdds,
      onProgress: reportProgress(clock, (bytes) => {
        report(`loading ${path}: ${Math.floor((bytes / totalBytes) * 100)} %`);
      }),
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
    const { lengthBytes } = end;
    return new JsonLinesPetStore({ catalogue, idempotentAdds }, { ...options, file, path, lengthBytes, prepare });
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Sets the torn tail aside. If that fails, as on a full disk, resolves to a function that must succeed before the first
 * write. Reads do not wait for it.
 */
async function setAside(
  { disk, report }: PetStoreOptions,
  path: string,
  file: DiskFile,
  end: Torn,
): Promise<(() => Promise<void>) | undefined> {
  const run = async (): Promise<void> => {
    const aside = await setTornTailAside(disk, path, file, end.lengthBytes);
    report(`warning: ${tornText(path, end)}; it was moved to ${aside}, and the rest is served`);
  };
  try {
    await run();
    return undefined;
  } catch (error) {
    const reason = messageOf(error);
    report(`warning: ${tornText(path, end)}; it cannot be moved (${reason}), and until then no animal can be added`);
    return run;
  }
}

/** Where the parts of an animal's line are. */
interface WrittenLine {
  readonly start: number;
  readonly textEnd: number;
  readonly statusIndex: number;
  readonly onceStart: number;
}

/** An animal that waits to be written, with its idempotency hash. */
interface Item {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

interface Contents {
  readonly catalogue: Catalogue;
  readonly idempotentAdds: IdempotentAdds;
}

export class JsonLinesPetStore implements PetStore {
  readonly #catalogue: Catalogue;
  readonly #idempotentAdds: IdempotentAdds;
  readonly #file: DiskFile;
  readonly #path: string;
  readonly #report: (message: string) => void;
  readonly #writer: GroupWriter<Item, StoredPet>;
  #closing: Promise<void> | undefined;

  constructor({ catalogue, idempotentAdds }: Contents, options: GroupWriterOptions) {
    this.#catalogue = catalogue;
    this.#idempotentAdds = idempotentAdds;
    this.#file = options.file;
    this.#path = options.path;
    this.#report = options.report;
    const owner = {
      encode: (waiting: readonly { readonly item: Item }[], chunk: Chunk) => this.#encode(waiting, chunk),
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

  add(newPet: NewPet, hash?: string): Promise<StoredPet> {
    const write = (): Promise<StoredPet> => this.#writer.add({ newPet, hash });
    const textOf = (id: number): string | undefined => this.#catalogue.get(id);
    return hash === undefined ? write() : this.#idempotentAdds.add(newPet, hash, write, textOf);
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
    try {
      if (!this.#file.isInPlace()) {
        const effect = "the next start serves only what is there";
        this.#report(`warning: ${this.#path} leads to another file or to none: ${effect}`);
      }
    } catch (error) {
      this.#report(`warning: ${messageOf(error)}`);
    }
    await this.#file.close();
  }

  #encode(waiting: readonly { readonly item: Item }[], chunk: Chunk): EncodedGroup<StoredPet> {
    const line = createPetLine();
    const firstId = this.#catalogue.count + 1;
    line.group = firstId;
    line.atSeconds = this.#idempotentAdds.wallSeconds;
    const results: StoredPet[] = [];
    const lines: WrittenLine[] = [];
    let end = 0;
    for (const { item } of waiting) {
      if (end + petLineBytesMax > chunk.bytes.length) {
        break;
      }
      const id = firstId + results.length;
      const { newPet, hash } = item;
      const json = newPetToJson(id, newPet);
      const start = end;
      end = encodePetLine(chunk, start, json, line, hash);
      const { textEnd, onceStart } = line;
      lines.push({ start, textEnd, statusIndex: petStatuses.indexOf(newPet.status), onceStart });
      results.push({ id, json });
    }
    return { byteCount: end, results, publish: () => this.#publish(chunk.view, lines) };
  }

  #publish(view: DataView, lines: readonly WrittenLine[]): void {
    for (const { start, textEnd, statusIndex, onceStart } of lines) {
      this.#catalogue.append(view, start, textEnd, statusIndex);
      if (onceStart > 0) {
        this.#idempotentAdds.remember(view, onceStart, this.#catalogue.count);
      }
    }
  }
}
