/**
 * Exports a data folder to a new one, without its history: an animal takes one line, however often it was changed.
 *
 * A request whose idempotency hash a service would still know keeps its line, so that repeating it has the same result.
 * After these lines stands what has become of their animals.
 */

import { join } from "node:path";

import type { Surroundings } from "../disk/disk.ts";
import { writeFile } from "../disk/file-bytes.ts";
import { keyFileName } from "../folder/key-file.ts";
import { limitsFileName } from "../folder/limits-file.ts";
import { HierarchicalBitSet } from "../store/hierarchical-bit-set.ts";
import { petFileName } from "../store/load-pets.ts";
import { removedIndex } from "../store/pet-line.ts";
import { PetFileLines } from "./pet-file-lines.ts";
import { type DatedContent, type FolderContent, type PetsRead, readFolder } from "./read-folder.ts";

/** The files are synced, their names are not. @throws {Error} a file is damaged where a start would refuse it */
export async function exportFolder(folder: string, target: string, options: Surroundings): Promise<FolderContent> {
  const { disk } = options;
  const content = await readFolder(folder, "exported", options);
  const { keyBytes, limits, pets } = content;
  for (const [name, bytes] of [[keyFileName, keyBytes], [limitsFileName, limits?.bytes]] as const) {
    await (bytes && writeFile(disk, join(target, name), [bytes]));
  }
  await (pets && writeFile(disk, join(target, petFileName), piecesOf(pets)));
  return content;
}

function* piecesOf(pets: PetsRead): Generator<Uint8Array> {
  const lines = new PetFileLines();
  for (const content of contentsOf(pets)) {
    if (lines.isFull) {
      yield lines.take();
    }
    lines.add(content, content.atSeconds);
  }
  lines.skipTo(pets.catalogue.lastId);
  yield lines.take();
}

/**
 * Yields the animals by id, and the lines with hashes in the order of the source, since a service forgets the oldest
 * ones by their order in the file. Animals are in the order of their ids there, and a change comes after its animal. So
 * a line with a hash comes after the animals up to its own. Versions ascend: an animal whose first such line is a
 * change is written as that change left it, and if the last one left it otherwise than it is, a last line says what it
 * is. A removed animal is written only if one of these lines is about it.
 */
function* contentsOf({ catalogue, replays, nowSeconds: atSeconds }: PetsRead): Generator<DatedContent> {
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
