/**
 * The catalogue in memory over its log on disk, `pets.jsonl`.
 *
 * Opening reads the log once and checks every line. A torn tail is set aside. Any other damage stops the start and
 * leaves the file as it was. What was read is synced before it is served, so that no reader sees what a loss of power
 * could undo. The last group is rewritten first (`Tail`). On a disk without room for that, reads are served
 * nevertheless, and an add tries it again.
 */

import { randomBytes as secureBytes } from "node:crypto";
import { join } from "node:path";

import { type Clock, reportProgress, systemClock } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import { Appender, type AppendTimes, type WriteFailure } from "../log/appender.ts";
import type { Chunk } from "../log/chunks.ts";
import { type EncodedGroup, groupBytesMax, GroupWriter } from "../log/group-writer.ts";
import { Tail } from "../log/tail.ts";
import {
  type JsonText,
  OutcomeUnknownError,
  type PetPage,
  type PetQuery,
  type PetStore,
  StorageUnavailableError,
  type StoredPet,
} from "../pets/pet-store.ts";
import { type NewPet, petToJson, petStatuses } from "../pets/pet.ts";
import { Catalogue } from "./catalogue.ts";
import { damageText, loadPets, petFileName, tornText } from "./load-pets.ts";
import { seedBytes } from "./idempotency-table.ts";
import { IdempotentAdds } from "./idempotent-adds.ts";
import { createPetLine, encodePetLine, type PetLine, petLineBytesMax } from "./pet-line.ts";

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
  readonly randomBytes?: (byteCount: number) => Uint8Array;
  readonly onGroup?: ((times: AppendTimes) => void) | undefined;
  /** Ends the opening: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @internal Opens the catalogue of a folder that this process has locked. Makes it if there is none.
 * @throws {DamagedLogError} naming line, byte offset and what is wrong; nothing was changed
 */
export async function openPetStore(options: PetStoreOptions): Promise<JsonLinesPetStore> {
  const { disk, dataDir, report, clock = systemClock, randomBytes = secureBytes } = options;
  await checkWhole(disk, dataDir);
  const path = join(dataDir, petFileName);
  const file = await disk.openToAppend(path);
  const idempotentAdds = new IdempotentAdds(clock, randomBytes(seedBytes));
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
    const { lengthBytes } = end;
    const torn = end.kind === "torn" ? { bytes: end.tornBytes, text: tornText(path, end) } : undefined;
    const tail = await Tail.read({ disk, path, file, lengthBytes, torn, groupBytesMax, report });
    const appender = new Appender({ file, path, lengthBytes, tail, report });
    await appender.prepare();
    await file.sync();
    await disk.syncFolder(dataDir);
    return new JsonLinesPetStore(catalogue, idempotentAdds, appender, options.onGroup);
  } catch (error) {
    await file.close();
    throw error;
  }
}

type WrittenLine = { readonly start: number } & Readonly<Pick<PetLine, "textEnd" | "statusIndex" | "hashStart">>;

/** An animal that waits to be written, with its idempotency hash; or to be durable, as it is in the file already. */
type Item =
  | { readonly newPet: NewPet; readonly idempotencyHash: string | undefined }
  | { readonly stored: StoredPet };

/** @internal */
export class JsonLinesPetStore implements PetStore {
  readonly #catalogue: Catalogue;
  readonly #idempotentAdds: IdempotentAdds;
  readonly #appender: Appender;
  readonly #writer: GroupWriter<Item, StoredPet>;
  #closing: Promise<void> | undefined;

  constructor(
    catalogue: Catalogue,
    idempotentAdds: IdempotentAdds,
    appender: Appender,
    onGroup: (times: AppendTimes) => void = () => undefined,
  ) {
    this.#catalogue = catalogue;
    this.#idempotentAdds = idempotentAdds;
    this.#appender = appender;
    const owner = {
      encode: (waiting: readonly { readonly item: Item }[], chunk: Chunk) => this.#encode(waiting, chunk),
      errorOf: ({ kind, reason }: WriteFailure) =>
        kind === "absent" ? new StorageUnavailableError(reason) : new OutcomeUnknownError(reason),
    };
    this.#writer = new GroupWriter(owner, appender, onGroup);
  }

  get animalCount(): number {
    return this.#catalogue.count;
  }

  get logBytes(): number {
    return this.#appender.lengthBytes;
  }

  add(newPet: NewPet, idempotencyHash?: string): Promise<StoredPet> {
    const write = (): Promise<StoredPet> => this.#writer.add({ newPet, idempotencyHash });
    if (idempotencyHash === undefined) {
      return write();
    }
    const textOf = (id: number): string | undefined => this.#catalogue.get(id);
    const adding = this.#idempotentAdds.add(newPet, idempotencyHash, write, textOf);
    // Whoever repeats an add is told that its animal is kept: not before it is.
    return this.#appender.isPrepared
      ? adding
      : adding.then((stored) => (stored.isReplay === true ? this.#writer.add({ stored }) : stored));
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
    this.#closing ??= this.#writer.close("the service is stopping");
    return this.#closing;
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
      if ("stored" in item) {
        results.push(item.stored);
        continue;
      }
      const id = firstId + lines.length;
      const { newPet, idempotencyHash } = item;
      const json = petToJson({ id, ...newPet });
      const start = end;
      end = encodePetLine(chunk, start, json, line, idempotencyHash);
      const { textEnd, hashStart } = line;
      lines.push({ start, textEnd, statusIndex: petStatuses.indexOf(newPet.status), hashStart });
      results.push({ id, json });
    }
    return { byteCount: end, results, publish: () => this.#publish(chunk.view, lines) };
  }

  #publish(view: DataView, lines: readonly WrittenLine[]): void {
    for (const { start, textEnd, statusIndex, hashStart } of lines) {
      this.#catalogue.append(view, start, textEnd, statusIndex);
      if (hashStart > 0) {
        this.#idempotentAdds.remember(view, hashStart, this.#catalogue.count);
      }
    }
  }
}
