/**
 * Writes what a data folder holds to a new one, without its history: an animal is one line, whatever was changed. A
 * server may hold the folder. Then it is as of one instant, in which the lengths of both logs were taken.
 *
 * A request whose idempotency hash still counts keeps its line, so that it is repeated with the same result. After them
 * stands what has become of those animals.
 */

import { join } from "node:path";

import { textOf } from "../base/checksum.ts";
import { reportProgress } from "../base/clock.ts";
import type { Surroundings } from "../disk/disk.ts";
import { type ReadableFile, readBytes, readWholeFile, upTo, writeFile } from "../disk/file-bytes.ts";
import { applyKeyLines, keyFileName, tornKeyText } from "../folder/key-file.ts";
import { decodeSnapshot, limitsFileName } from "../folder/limits-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { petStatuses } from "../pets/pet.ts";
import { Catalogue } from "../store/catalogue.ts";
import {
  idempotencyHashCharacters, type IdempotencyHashes, idempotencySecondsMax,
} from "../store/idempotency-hashes.ts";
import { loadPets, petFileName, tornText } from "../store/load-pets.ts";
import type { LineContent } from "../store/pet-line.ts";
import { intactPart, type Transferred } from "./import-to-postgres.ts";
import { PetFileLines } from "./pet-file-lines.ts";

export const transferredFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

/** The files are synced, their names are not. @throws {Error} a file is damaged where a start would refuse it */
export async function exportFolder(folder: string, target: string, options: Surroundings): Promise<Transferred> {
  const { disk, clock, report } = options;
  const [keyPath, petPath] = [join(folder, keyFileName), join(folder, petFileName)];
  // First: a start takes unbans and resets of keys.jsonl that these limits do not know, but not the other way round.
  const limits = await readWholeFile(disk, join(folder, limitsFileName));
  const [keys, pets] = [await disk.openToRead(keyPath), await disk.openToRead(petPath)];
  try {
    const [keyBytes, petBytes] = [keys?.size() ?? 0, pets?.size() ?? 0];
    const keyring = new Keyring({ clock });
    if (keys !== undefined) {
      const content = await intactKeys(keyPath, upTo(keys, keyBytes), keyring, options);
      await writeFile(disk, join(target, keyFileName), [content]);
    }
    const saved = limits && decodeSnapshot(limits);
    if (typeof saved === "string") {
      report(`left out ${limitsFileName}: it ${saved}; all limits start unused`, "warning");
    } else if (limits !== undefined) {
      await writeFile(disk, join(target, limitsFileName), [limits]);
    }
    const lines = new PetFileLines();
    if (pets !== undefined) {
      const pieces = await shortPieces(petPath, upTo(pets, petBytes), lines, options);
      await writeFile(disk, join(target, petFileName), pieces);
    }
    return { animalCount: lines.animalCount, keyring };
  } finally {
    await keys?.close();
    await pets?.close();
  }
}

async function intactKeys(path: string, file: ReadableFile, ring: Keyring, { report }: Surroundings): Promise<Buffer> {
  const end = intactPart(path, await applyKeyLines(file, ring), tornKeyText, "what is before them is exported", report);
  return readBytes(file, end.lengthBytes);
}

async function shortPieces(
  path: string,
  file: ReadableFile,
  lines: PetFileLines,
  { clock, report }: Surroundings,
): Promise<Iterable<Uint8Array>> {
  const catalogue = new Catalogue(petStatuses);
  const replays: Replays = { creates: new Map(), changes: [] };
  const nowSeconds = Math.floor(clock.wallMs() / 1_000);
  const rememberSince: IdempotencyHashes["rememberSince"] = (bytes, start, { id, kind, statusIndex }, atSeconds) => {
    if (nowSeconds - atSeconds < idempotencySecondsMax) {
      const idempotencyHash = textOf(bytes, start, start + idempotencyHashCharacters);
      const content = { id, kind, statusIndex, json: "", idempotencyHash, atSeconds };
      void (kind === "change" ? replays.changes.push(content) : replays.creates.set(id, content));
    }
  };
  const to = file.size();
  const onProgress = reportProgress(clock, (bytes) => report(`reading ${path}: ${Math.floor((bytes / to) * 100)} %`));
  const end = await loadPets(file, catalogue, { hashes: { rememberSince }, onProgress });
  intactPart(path, end, tornText, "what is before them is exported", report);
  return piecesOf(catalogue, replays, lines);
}

type DatedContent = LineContent & { readonly atSeconds: number };

/** The requests whose hashes still count. */
interface Replays {
  readonly creates: Map<number, DatedContent>;
  readonly changes: DatedContent[];
}

function* piecesOf(catalogue: Catalogue, replays: Replays, lines: PetFileLines): Generator<Uint8Array> {
  for (const content of contentsOf(catalogue, replays)) {
    if (lines.isFull) {
      yield lines.take();
    }
    lines.add(content, content.atSeconds);
  }
  lines.skipTo(catalogue.lastId);
  yield lines.take();
}

function* contentsOf(catalogue: Catalogue, { creates, changes }: Replays): Generator<DatedContent> {
  const plain = { idempotencyHash: undefined, atSeconds: 0 };
  for (let id = catalogue.next(1); id !== undefined; id = catalogue.next(id + 1)) {
    const statusIndex = creates.get(id)?.statusIndex ?? catalogue.statusOf(id)!; // There is the animal.
    const json = catalogue.get(id, statusIndex)!;
    yield { id, kind: "create", statusIndex, ...(creates.get(id) ?? plain), json };
  }
  yield* changes;
  const written = new Map([...creates.values(), ...changes].map(({ id, statusIndex }) => [id, statusIndex]));
  for (const [id, statusIndex] of written) {
    const present = catalogue.statusOf(id)!; // As above.
    if (statusIndex !== present) {
      yield { id, kind: "change", statusIndex: present, json: "", ...plain };
    }
  }
}
