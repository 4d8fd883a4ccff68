/**
 * Reads a data folder into memory, to be written elsewhere. A server may hold the folder: what is read is as of one
 * instant, in which the lengths of both logs are taken.
 */

import { join } from "node:path";

import { textOf } from "../base/checksum.ts";
import { reportProgress } from "../base/clock.ts";
import type { Report } from "../base/report.ts";
import type { Surroundings } from "../disk/disk.ts";
import { fileOf, type ReadableFile, readBytes, readWholeFile, upTo } from "../disk/file-bytes.ts";
import { applyKeyLines, keyFileName } from "../folder/key-file.ts";
import { decodeSnapshot, limitsFileName, type SavedLimits } from "../folder/limits-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { damageText, type LogEnd, tornText } from "../log/reader.ts";
import { petStatuses } from "../pets/pet.ts";
import { Catalogue } from "../store/catalogue.ts";
import type { IdempotencyHashes } from "../store/idempotency-hashes.ts";
import { idempotencyHashCharacters, idempotencyHashesMin, idempotencySecondsMax } from "../store/idempotency-table.ts";
import { loadPets, petFileName } from "../store/load-pets.ts";
import type { LineContent } from "../store/pet-line.ts";

export const transferredFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

/** What the files say; undefined for a file that is not there. */
export interface FolderContent {
  readonly keyring: Keyring;
  readonly keyBytes: Buffer | undefined;
  readonly limits: { readonly bytes: Buffer; readonly saved: SavedLimits } | undefined;
  readonly pets: PetsRead | undefined;
}

/**
 * @param done what is done with what is read, in a word
 * @throws {Error} a file is damaged where a start would refuse it
 */
export async function readFolder(folder: string, done: string, options: Surroundings): Promise<FolderContent> {
  const { disk, clock, report } = options;
  const [keyPath, petPath] = [join(folder, keyFileName), join(folder, petFileName)];
  // First: a start applies unbans and resets of keys.jsonl that these limits do not know, but not the reverse.
  const bytes = await readWholeFile(disk, join(folder, limitsFileName));
  const saved = bytes && decodeSnapshot(bytes);
  if (typeof saved === "string") {
    report(`left out ${limitsFileName}: it ${saved}; all limits start unused`, "warning");
  }
  const limits = bytes !== undefined && typeof saved === "object" ? { bytes, saved } : undefined;
  const [keys, pets] = [await disk.openToRead(keyPath), await disk.openToRead(petPath)];
  try {
    const [keyBytesMax, petBytesMax] = [keys?.size() ?? 0, pets?.size() ?? 0];
    const keyring = new Keyring({ clock });
    const keyLog = keys && (await readBytes(keys, keyBytesMax));
    const keyEnd = keyLog && intactPart(keyPath, await applyKeyLines(fileOf(keyLog), keyring), done, report);
    const petsRead = pets && (await readPets(petPath, upTo(pets, petBytesMax), done, options));
    return { keyring, keyBytes: keyLog?.subarray(0, keyEnd?.lengthBytes), limits, pets: petsRead };
  } finally {
    await keys?.close();
    await pets?.close();
  }
}

/** The log's part before a torn tail, which is reported. @throws {Error} it is damaged where no start takes it */
function intactPart(
  path: string,
  end: LogEnd,
  done: string,
  report: Report,
): Exclude<LogEnd, { readonly kind: "corrupt" }> {
  if (end.kind === "corrupt") {
    throw new Error(damageText(path, end));
  }
  if (end.kind === "torn") {
    report(`${tornText(path, end)}; what is before them is ${done}`, "warning");
  }
  return end;
}

/** What pets.jsonl says, in memory. */
export interface PetsRead {
  readonly catalogue: Catalogue;
  /** In the order of the file: the requests with a hash that a service would still know. */
  readonly replays: readonly DatedContent[];
  readonly nowSeconds: number;
}

/** The line of a request whose hash counts: a replay is answered from it. */
export type DatedContent = LineContent & { readonly atSeconds: number };

async function readPets(
  path: string,
  file: ReadableFile,
  done: string,
  { clock, report }: Surroundings,
): Promise<PetsRead> {
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
  intactPart(path, await loadPets(file, catalogue, { hashes, onProgress }), done, report);
  return { catalogue, replays: replays.slice(-idempotencyHashesMin), nowSeconds };
}
