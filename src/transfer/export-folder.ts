/**
 * Exports a data folder to a new one, without its history: an animal takes one line, however often it was changed. A
 * server may hold the folder: the export is as of one instant, in which the lengths of both logs are taken.
 *
 * A request whose idempotency hash a service would still know keeps its line, so that repeating it has the same result.
 * After these lines stands what has become of their animals.
 */

import { join } from "node:path";

import { textOf } from "../base/checksum.ts";
import { reportProgress } from "../base/clock.ts";
import type { Surroundings } from "../disk/disk.ts";
import { type ReadableFile, readBytes, readWholeFile, upTo, writeFile } from "../disk/file-bytes.ts";
import { applyKeyLines, keyFileName } from "../folder/key-file.ts";
import { decodeSnapshot, limitsFileName } from "../folder/limits-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { petStatuses } from "../pets/pet.ts";
import { Catalogue } from "../store/catalogue.ts";
import { HierarchicalBitSet } from "../store/hierarchical-bit-set.ts";
import type { IdempotencyHashes } from "../store/idempotency-hashes.ts";
import { idempotencyHashCharacters, idempotencyHashesMin, idempotencySecondsMax } from "../store/idempotency-table.ts";
import { loadPets, petFileName } from "../store/load-pets.ts";
import { type LineContent, removedIndex } from "../store/pet-line.ts";
import { intactPart, type Transferred } from "./import-to-postgres.ts";
import { PetFileLines } from "./pet-file-lines.ts";

export const transferredFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

/** The files are synced, their names are not. @throws {Error} a file is damaged where a start would refuse it */
export async function exportFolder(folder: string, target: string, options: Surroundings): Promise<Transferred> {
  const { disk, clock, report } = options;
  const [keyPath, petPath] = [join(folder, keyFileName), join(folder, petFileName)];
  // First: a start applies unbans and resets of keys.jsonl that these limits do not know, but not the reverse.
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
  const end = intactPart(path, await applyKeyLines(file, ring), "what is before them is exported", report);
  return readBytes(file, end.lengthBytes);
}

async function shortPieces(
  path: string,
  file: ReadableFile,
  lines: PetFileLines,
  { clock, report }: Surroundings,
): Promise<Iterable<Uint8Array>> {
  const catalogue = new Catalogue(petStatuses);
  const replays: DatedContent[] = [];
  const nowSeconds = Math.floor(clock.wallMs() / 1_000);
  const rememberSince: IdempotencyHashes["rememberSince"] = (bytes, start, request, atSeconds) => {
    const { id, isChange, statusIndex, version } = request;
    if (nowSeconds - atSeconds < idempotencySecondsMax) {
      const idempotencyHash = textOf(bytes, start, start + idempotencyHashCharacters);
      const kind = isChange ? "change" : "create";
      replays.push({ id, kind, statusIndex, version, json: "", idempotencyHash, atSeconds });
      if (replays.length > 2 * idempotencyHashesMin) { // Not each time: it moves all that stay.
        replays.splice(0, replays.length - idempotencyHashesMin);
      }
    }
  };
  const onProgress = reportProgress(clock, report, `reading ${path}`, file.size());
  // As at a start, a time that is still to come counts as now.
  const hashes = { rememberSince, secondsOf: (seconds: number) => Math.min(seconds, nowSeconds) };
  const end = await loadPets(file, catalogue, { hashes, onProgress });
  intactPart(path, end, "what is before them is exported", report);
  return piecesOf(catalogue, replays.slice(-idempotencyHashesMin), lines, nowSeconds);
}

/** The line of a request whose hash counts: a replay is answered from it. */
type DatedContent = LineContent & { readonly atSeconds: number };

function* piecesOf(
  catalogue: Catalogue,
  replays: readonly DatedContent[],
  lines: PetFileLines,
  nowSeconds: number,
): Generator<Uint8Array> {
  for (const content of contentsOf(catalogue, replays, nowSeconds)) {
    if (lines.isFull) {
      yield lines.take();
    }
    lines.add(content, content.atSeconds);
  }
  lines.skipTo(catalogue.lastId);
  yield lines.take();
}

/**
 * Yields the animals by id, and the lines with hashes in the order of the source, since a service forgets the oldest
 * ones by their order in the file. Animals are in the order of their ids there, and a change comes after its animal. So
 * a line with a hash comes after the animals up to its own. Versions ascend: an animal whose first such line is a
 * change is written as that change left it, and if the last one left it otherwise than it is, a last line says what it
 * is. A removed animal is written only if one of these lines is about it.
 */
function* contentsOf(
  catalogue: Catalogue,
  replays: readonly DatedContent[],
  atSeconds: number,
): Generator<DatedContent> {
  const plain = { idempotencyHash: undefined, atSeconds };
  const firsts = new Map<number, DatedContent>();
  const removedButNeeded = new HierarchicalBitSet();
  for (const replay of replays) {
    const { id } = replay;
    firsts.set(id, firsts.get(id) ?? replay);
    if (catalogue.statusOf(id) === undefined) {
      removedButNeeded.add(id);
    }
  }
  const next = (from: number): number =>
    Math.min(catalogue.next(from) ?? Infinity, removedButNeeded.next(from) ?? Infinity);
  let nextId = next(1);
  function* animalsUpTo(lastId: number): Generator<DatedContent> {
    for (; nextId <= lastId; nextId = next(nextId + 1)) {
      const present = { statusIndex: catalogue.statusOf(nextId)!, version: catalogue.versionOf(nextId) };
      const { statusIndex, version } = firsts.get(nextId) ?? present;
      const shown = statusIndex === removedIndex ? 0 : statusIndex; // Which one a removed animal had does not matter.
      const json = catalogue.getAsOf(nextId, shown, version);
      yield { id: nextId, kind: "create", statusIndex: shown, version: version === 1 ? 0 : version, json, ...plain };
    }
  }
  /** The last version of each animal with a hash that was written. */
  const written = new Map<number, number>();
  const changeOf = (change: DatedContent): DatedContent => {
    const { id, statusIndex, version } = change;
    const isSameText = catalogue.textOf(id, written.get(id) ?? version) === catalogue.textOf(id, version);
    return isSameText || statusIndex === removedIndex
      ? change
      : { ...change, kind: "correction", json: catalogue.getAsOf(id, statusIndex, version) };
  };
  for (const replay of replays) {
    const { id, kind, statusIndex, version } = replay;
    if (kind === "create") {
      yield* animalsUpTo(id - 1);
      yield { ...replay, version: 0, json: catalogue.getAsOf(id, statusIndex, version) };
      nextId = next(id + 1);
    } else {
      yield* animalsUpTo(id);
      yield changeOf(replay);
    }
    written.set(id, version);
  }
  yield* animalsUpTo(catalogue.lastId);
  for (const [id, last] of written) {
    const version = catalogue.versionOf(id);
    if (last !== version) {
      const statusIndex = catalogue.statusOf(id) ?? removedIndex;
      yield changeOf({ id, kind: "change", statusIndex, version, json: "", ...plain });
    }
  }
}
