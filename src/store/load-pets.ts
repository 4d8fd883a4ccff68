/**
 * Reads pets.jsonl into a catalogue, and says what is wrong with it. Here are the rules between lines; pet-line.ts has
 * those within one.
 *
 * Ids are 1, 2, 3, …. A line's group is its own id, which begins a group, or the group of the line before it. If a line
 * with a right checksum breaks this rule, a line is missing, doubled or moved, which no crash does.
 */

import { join } from "node:path";

import type { Disk, DiskFile } from "../disk/disk.ts";
import { counted, readError } from "../disk/error-message.ts";
import { endOfChecksummedLine } from "../log/checksum.ts";
import { groupBytesMax } from "../log/group-writer.ts";
import { type LineFault, type LineReader, type LogEnd, readLog, type ReadLogOptions } from "../log/reader.ts";
import { petStatuses } from "../pets/pet.ts";
import { Catalogue } from "./catalogue.ts";
import type { IdempotentAdds } from "./idempotent-adds.ts";
import { createPetLine, petLineBytesMax, readPetLine } from "./pet-line.ts";

export const petFileName = "pets.jsonl";

export interface LoadedPets {
  readonly catalogue: Catalogue;
  readonly end: LogEnd;
}

export interface LoadOptions extends Omit<ReadLogOptions, "tornBytesMax"> {
  /** Gets the hashes of the last 24 hours. */
  readonly idempotentAdds?: IdempotentAdds | undefined;
}

/** Reads all animals up to the end of the log or the first fault. */
export async function loadPets(file: DiskFile, { idempotentAdds, ...options }: LoadOptions): Promise<LoadedPets> {
  const catalogue = new Catalogue(petStatuses.length);
  const reader = new PetLineReader(catalogue, idempotentAdds);
  const end = await readLog(file, reader, { ...options, tornBytesMax: groupBytesMax });
  return { catalogue, end };
}

/** What takes the animals in their order. */
export type PetSink = Pick<Catalogue, "count" | "append">;

export class PetLineReader implements LineReader {
  readonly #catalogue: PetSink;
  readonly #idempotentAdds: Pick<IdempotentAdds, "restore"> | undefined;
  readonly #line = createPetLine();
  #group = 0;

  constructor(catalogue: PetSink, idempotentAdds?: Pick<IdempotentAdds, "restore">) {
    this.#catalogue = catalogue;
    this.#idempotentAdds = idempotentAdds;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const line = this.#line;
    const fault = readPetLine(bytes, start, end, line);
    if (fault !== undefined) {
      return fault;
    }
    const expectedId = this.#catalogue.count + 1;
    if (line.id !== expectedId) {
      return { kind: "wrong", reason: `the animal has id ${line.id} instead of ${expectedId}` };
    }
    if (line.group !== line.id && line.group !== this.#group) {
      return { kind: "wrong", reason: `the animal has group ${line.group}, not its own id or the last group` };
    }
    this.#group = line.group;
    this.#catalogue.append(bytes, start, line.textEnd, line.statusIndex);
    if (line.onceStart > 0) {
      this.#idempotentAdds?.restore(bytes, line.onceStart, line.id, line.atSeconds);
    }
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    const line = this.#line;
    const lineEnd = endOfChecksummedLine(bytes, start, Math.min(end, start + petLineBytesMax));
    if (lineEnd < 0) {
      return false;
    }
    // Unknown members count as proof: what a newer release wrote must not be set aside as a torn tail.
    const isKnown = readPetLine(bytes, start, lineEnd, line) === undefined;
    // A torn tail may hold old pages: the line of an earlier animal proves nothing.
    return !isKnown || (line.id === line.group && line.id > this.#catalogue.count);
  }
}

/**
 * Resolves to what opening the catalogue would find, as text. Changes nothing, and works while a server is running.
 *
 * @throws {Error} why it could not be opened
 */
export async function checkPetLog(disk: Disk, dataDir: string, isServed: boolean): Promise<string> {
  const path = join(dataDir, petFileName);
  const file = await disk.openToRead(path);
  if (file === undefined) {
    return `${path} does not exist: a start would create it`;
  }
  try {
    // Up to the present size: a half-written line of a running server is not damage if more lines follow it later.
    const { catalogue, end } = await loadPets(file, { to: file.size() }).catch((error: unknown) => {
      throw readError(path, error);
    });
    const sound = `${path} is sound: ${counted(catalogue.count, "animal")}`;
    if (end.kind === "whole") {
      return sound;
    }
    if (end.kind === "corrupt") {
      throw new Error(damageText(path, end));
    }
    return isServed
      ? `${sound}; a write is under way at its end, or has failed`
      : `${sound}; ${tornText(path, end)}; a start would set it aside`;
  } finally {
    await file.close();
  }
}

type Corrupt = Extract<LogEnd, { readonly kind: "corrupt" }>;
export type Torn = Extract<LogEnd, { readonly kind: "torn" }>;

export function damageText(path: string, { lineNumber, offset, reason }: Corrupt): string {
  return `${path} is damaged at line ${lineNumber}, byte ${offset}: ${reason}`;
}

export function tornText(path: string, { tornBytes, reason }: Torn): string {
  const last = tornBytes === 1 ? `byte of ${path} is` : `${tornBytes} bytes of ${path} are`;
  return `the last ${last} an unfinished write (${reason})`;
}
