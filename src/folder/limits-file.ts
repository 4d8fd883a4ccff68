/**
 * Stores the limits of all keys across restarts, in limits.json: one line of JSON with a checksum (base/checksum.ts).
 *
 *     {"version":1,"savedMs":…,"keys":[key, …],"crc":"xxxxxxxx"}
 *
 * However the clock was set meanwhile, a restored window or ban lasts for its own length at most.
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";

import { checksumText, hasChecksum, viewOf } from "../base/checksum.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { SerialQueue } from "../base/serial-queue.ts";
import type { Disk, Lock } from "../disk/disk.ts";
import { readWholeFile, replaceFile } from "../disk/file-bytes.ts";
import { type Ban, isRemembered, noBan } from "../limits/ban.ts";
import { type KeyLimits, withInstants } from "../limits/key-limits.ts";
import type { MemoryLimiter } from "../limits/memory-limiter.ts";
import { closedWindow, dayMs, isOpen, type Window } from "../limits/window.ts";

/** The limits of a key that are not over. Instants are Unix milliseconds. */
export interface SavedKey {
  readonly id: string;
  readonly minute?: Readonly<Window> | undefined;
  readonly day?: Readonly<Window> | undefined;
  readonly streak?: Pick<Readonly<Ban>, "refusalCount" | "secondEndsMs"> | undefined;
  readonly ban?: Pick<Readonly<Ban>, "untilMs" | "durationMs"> | undefined;
  /** When the last request came. Releases before 1.2 did not write it. */
  readonly lastMs?: number | undefined;
}

export interface SavedLimits {
  readonly version: number;
  readonly savedMs: number;
  readonly keys: readonly SavedKey[];
}

export interface LimitsFileOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  /** The folder's. If it is not in place, the path leads to another folder, whose limits are not replaced. */
  readonly lock: Pick<Lock, "isInPlace">;
  readonly limiter: MemoryLimiter;
  readonly report: Report;
}

export const limitsFileName = "limits.json";
const formatVersion = 1;

/** Keys that are encoded in one turn of the event loop. */
const keysPerPiece = 500;

export interface LimitsFile {
  /**
   * Resolves when the limits as they are now, or later ones, are on disk: to undefined, or to why they are not.
   * Saves never overlap: one runs, and at most one waits.
   */
  save(): Promise<string | undefined>;
}

/** Restores the limiter from the file. A damaged one is set aside. @throws {Error} as `loadLimits` */
export async function openLimitsFile(options: LimitsFileOptions): Promise<LimitsFile> {
  const { disk, dataDir, lock, limiter, report } = options;
  const path = join(dataDir, limitsFileName);
  const fault = await loadLimits(disk, dataDir, limiter);
  if (fault !== undefined) {
    // A file that is mounted by itself cannot be moved. That is no reason not to serve.
    const asidePath = `${path}.damaged`; // An earlier one there is replaced.
    const move = await disk.rename(path, asidePath).then(() => disk.syncFolder(dataDir)).then(
      () => `was moved to ${asidePath}`,
      (error: unknown) => `cannot be moved: ${messageOf(error)}`,
    );
    report(`${path} ${fault} and ${move}; all limits start unused`, "warning");
  }
  /** The limiter's `changeCount` that is on disk. */
  let savedCount = 0;
  let isFailing = false;
  const saves = new SerialQueue();
  let waitingSave: Promise<string | undefined> | undefined;
  const write = async (): Promise<string | undefined> => {
    waitingSave = undefined;
    const { changeCount } = limiter;
    if (changeCount === savedCount) {
      return undefined;
    }
    let failure: string | undefined;
    try {
      if (!(await lock.isInPlace())) {
        throw new Error(`${dataDir} leads to another folder or to none, or its lock was removed`);
      }
      await replaceFile(disk, path, snapshotPieces(limiter));
      savedCount = changeCount;
    } catch (error) {
      failure = `the limits cannot be saved, a restart would forget them: ${messageOf(error)}`;
    }
    // The first failure is reported, and the first success after it.
    if (isFailing !== (failure !== undefined)) {
      isFailing = !isFailing;
      report(failure ?? "the limits can be saved again", failure === undefined ? "info" : "warning");
    }
    return failure;
  };
  return { save: () => (waitingSave ??= saves.run(write)) };
}

/**
 * Restores the limiter from the file, if there is one. Resolves to why it cannot be used: text that follows its name.
 * @throws {Error} naming the file, if it cannot be read
 */
export async function loadLimits(disk: Disk, dataDir: string, limiter: MemoryLimiter): Promise<string | undefined> {
  const path = join(dataDir, limitsFileName);
  const bytes = await readWholeFile(disk, path);
  const saved = bytes && decodeSnapshot(bytes);
  if (typeof saved === "object") {
    restoreLimits(limiter, saved);
    return undefined;
  }
  return saved;
}

/**
 * A clock that stands at the instant of the last save: a command that lifts a ban reads the limits by it, and writes
 * all others as they were, however wrong its own clock is. Undefined if no file can be used.
 */
export async function clockOfSave(disk: Disk, dataDir: string): Promise<Clock | undefined> {
  const bytes = await readWholeFile(disk, join(dataDir, limitsFileName)).catch(() => undefined); // Its use says why.
  const saved = bytes && decodeSnapshot(bytes);
  return typeof saved === "object" ? { wallMs: () => saved.savedMs, monotonicMs: () => 0 } : undefined;
}

/** Returns the saved limits, or why they cannot be used: text that follows the file's name. */
export function decodeSnapshot(bytes: Uint8Array): SavedLimits | string {
  if (bytes.at(-1) !== 0x0a || !hasChecksum(viewOf(bytes), 0, bytes.length - 1)) {
    return "is damaged";
  }
  // The checksum proves that this program wrote it.
  const saved = JSON.parse(Buffer.from(bytes).toString()) as SavedLimits;
  return saved.version === formatVersion ? saved : "was written by another release";
}

/** The content of the file, in pieces: requests may be decided in between. */
export function* snapshotPieces(limiter: MemoryLimiter): Generator<string> {
  const { clockMapping } = limiter;
  const savedMs = clockMapping.toWallMs(clockMapping.nowMs());
  let crc = 0;
  let piece = `{"version":${formatVersion},"savedMs":${savedMs},"keys":[`;
  let separator = "";
  let keyCount = 0;
  for (const [keyId, limits] of limiter.keys) {
    const saved = savedKey(keyId, withInstants(limits, (instantMs) => clockMapping.toWallMs(instantMs)), savedMs);
    if (saved === undefined) {
      limiter.keys.delete(keyId);
    } else {
      piece += separator + JSON.stringify(saved);
      separator = ",";
    }
    keyCount += 1;
    if (keyCount % keysPerPiece === 0) {
      crc = crc32(piece, crc);
      yield piece;
      piece = "";
    }
  }
  piece += "]";
  yield piece + checksumText(crc32(piece, crc));
}

/** Returns undefined if nothing has an effect, and there was no request for a day. Instants are Unix milliseconds. */
function savedKey(id: string, { minute, day, ban, lastMs }: KeyLimits, nowMs: number): SavedKey | undefined {
  const isAnyOpen = isOpen(minute, nowMs) || isOpen(day, nowMs);
  if (!isAnyOpen && !isRemembered(ban, nowMs) && nowMs - lastMs > dayMs) {
    return undefined;
  }
  const { refusalCount, secondEndsMs, untilMs, durationMs } = ban;
  // With both windows closed the next request is served, or refused by a ban: either way a streak does not matter.
  const hasStreak = isAnyOpen && refusalCount > 0;
  return {
    id,
    minute: isOpen(minute, nowMs) ? minute : undefined,
    day: isOpen(day, nowMs) ? day : undefined,
    streak: hasStreak ? { refusalCount, secondEndsMs } : undefined,
    ban: isRemembered(ban, nowMs) ? { untilMs, durationMs } : undefined,
    lastMs: lastMs > 0 ? lastMs : undefined,
  };
}

export function restoreLimits(limiter: MemoryLimiter, saved: SavedLimits): void {
  const { clockMapping } = limiter;
  const nowMs = clockMapping.nowMs();
  const wallNowMs = Math.max(clockMapping.toWallMs(nowMs), saved.savedMs); // The clock may have been set back.
  const instantOf = (wallMs: number, aheadMsMax: number): number => nowMs + Math.min(wallMs - wallNowMs, aheadMsMax);
  for (const { id, minute = closedWindow(), day = closedWindow(), lastMs = -Infinity, ...key } of saved.keys) {
    const limits = { minute, day, ban: { ...noBan(), ...key.streak, ...key.ban }, lastMs };
    limiter.keys.set(id, withInstants(limits, instantOf));
  }
}
