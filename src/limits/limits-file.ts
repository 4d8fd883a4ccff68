/**
 * Keeps the limits of all keys across restarts, in limits.json: one line of JSON with a checksum (log/checksum.ts).
 *
 *     {"version":1,"savedMs":…,"keys":[key, …],"crc":"xxxxxxxx"}
 *
 * However the clock was set meanwhile, a bucket stays open for its window at most, and a ban for its length.
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";

import type { Disk, Lock } from "../disk/disk.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { readError } from "../disk/file-errors.ts";
import { readWholeFile, replaceFile, setFileAside } from "../disk/replace-file.ts";
import { checksumText, hasChecksum, viewOf } from "../log/checksum.ts";
import { type Ban, banRule, isRemembered, noBan } from "./ban.ts";
import { type Bucket, closedBucket, dayMs, isOpen, minuteMs } from "./bucket.ts";
import { type KeyLimits, shifted } from "./key-limits.ts";
import type { MemoryLimiter } from "./memory-limiter.ts";

/** The limits of a key that are not over. Instants are Unix milliseconds. */
export interface SavedKey {
  readonly id: string;
  readonly minute?: Readonly<Bucket> | undefined;
  readonly day?: Readonly<Bucket> | undefined;
  readonly streak?: Pick<Readonly<Ban>, "refusalCount" | "secondEndsMs"> | undefined;
  readonly ban?: Pick<Readonly<Ban>, "untilMs" | "durationMs"> | undefined;
  /** Of the last request. Releases before 1.2 did not write it. */
  readonly lastMs?: number | undefined;
  /** How many unbans and resets of the key have had their effect. Releases before 2.0 did not write it. */
  readonly reliefs?: number | undefined;
}

export interface SavedLimits {
  readonly version: number;
  readonly savedMs: number;
  readonly keys: readonly SavedKey[];
}

/**
 * The unbans and resets of each key, as its log has them. They are told apart by their number, never by their time: the
 * clock of whoever made one may be wrong.
 */
export interface Reliefs {
  get(keyId: string): { readonly reliefCount: number; readonly resetNumber: number } | undefined;
}

export interface LimitsFileOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  /** Of the folder. If it is not in place, the folder is another one, and its limits are not replaced. */
  readonly lock: Pick<Lock, "isInPlace">;
  readonly limiter: MemoryLimiter;
  readonly report: Report;
  readonly reliefs: Reliefs;
}

export const limitsFileName = "limits.json";
const formatVersion = 1;

/** Keys that are encoded in one turn of the event loop. */
const keysPerPiece = 500;

export class LimitsFile {
  readonly #options: LimitsFileOptions;
  /** The limiter's `changeCount` that is on disk. */
  #savedCount = 0;
  #isFailing = false;
  #lastSave: Promise<void> = Promise.resolve();
  #waitingSave: Promise<void> | undefined;

  /** Restores the limiter from the file. A damaged one is set aside. @throws {Error} as `readSavedLimits` */
  static async open(options: LimitsFileOptions): Promise<LimitsFile> {
    const { disk, dataDir, limiter, report, reliefs } = options;
    const saved = await readSavedLimits(disk, dataDir);
    const file = new LimitsFile(options);
    if (typeof saved === "string") {
      const path = join(dataDir, limitsFileName);
      // A file that is mounted by itself cannot be moved. That is no reason not to serve.
      const move = setFileAside(disk, path).then((asidePath) => `was moved to ${asidePath}`, cannotMove);
      report(`${path} ${saved} and ${await move}; all limits start unused`, "warning");
    } else if (saved !== undefined) {
      restoreLimits(limiter, saved, reliefs);
      if (saved.keys.some((key) => key.reliefs === undefined)) {
        file.#savedCount = NaN; // From the next save on, the numbers tell which reliefs are new.
      }
    }
    return file;
  }

  private constructor(options: LimitsFileOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the limits as they are now, or later ones, are on disk, or could not be written, which is reported.
   * Saves never overlap: one runs, and at most one waits.
   */
  save(): Promise<void> {
    this.#waitingSave ??= this.#lastSave = this.#lastSave.then(() => {
      this.#waitingSave = undefined;
      return this.#save();
    });
    return this.#waitingSave;
  }

  async #save(): Promise<void> {
    const { disk, dataDir, lock, limiter, reliefs } = this.#options;
    const { changeCount } = limiter;
    if (changeCount === this.#savedCount) {
      return;
    }
    try {
      if (!(await lock.isInPlace())) {
        throw new Error(`${dataDir} leads to another folder or to none, or its lock was removed`);
      }
      await replaceFile(disk, join(dataDir, limitsFileName), snapshotPieces(limiter, reliefs));
      this.#savedCount = changeCount;
      this.#reportChange(false, "the limits can be saved again");
    } catch (error) {
      this.#reportChange(true, `the limits cannot be saved, a restart would forget them: ${messageOf(error)}`);
    }
  }

  /** Reports the first failure, and the first success after it. */
  #reportChange(isFailing: boolean, message: string): void {
    if (isFailing !== this.#isFailing) {
      this.#isFailing = isFailing;
      this.#options.report(message, isFailing ? "warning" : "info");
    }
  }
}

function cannotMove(error: unknown): string {
  return `cannot be moved: ${messageOf(error)}`;
}

/** Resolves to undefined if there is no file. @throws {Error} naming the file, if it cannot be read */
export async function readSavedLimits(disk: Disk, dataDir: string): Promise<SavedLimits | string | undefined> {
  const path = join(dataDir, limitsFileName);
  const bytes = await readWholeFile(disk, path).catch((error: unknown) => {
    throw readError(path, error);
  });
  return bytes && decodeSnapshot(bytes);
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

/**
 * The content of the file, in pieces: requests may be decided in between.
 * @param reliefs all of them have had their effect on the limiter; if undefined, so have all that a restart will know
 */
export function* snapshotPieces(limiter: MemoryLimiter, reliefs?: Reliefs): Generator<string> {
  const nowMs = limiter.timeline.nowMs();
  const savedMs = limiter.timeline.toWallMs(nowMs);
  let crc = 0;
  let piece = `{"version":${formatVersion},"savedMs":${savedMs},"keys":[`;
  let separator = "";
  let keyCount = 0;
  for (const [keyId, limits] of limiter.keys) {
    const saved = savedKey(keyId, shifted(limits, savedMs - nowMs), savedMs);
    if (saved === undefined) {
      limiter.keys.delete(keyId);
    } else {
      const reliefCount = reliefs && (reliefs.get(keyId)?.reliefCount ?? 0);
      piece += separator + JSON.stringify({ ...saved, reliefs: reliefCount });
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
  // With both buckets closed the next request is served, or refused by a ban: either way a streak does not matter.
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

/** Restores what was saved, and then applies the reliefs that have come since. */
export function restoreLimits(limiter: MemoryLimiter, saved: SavedLimits, reliefs: Reliefs): void {
  const { timeline } = limiter;
  const nowMs = timeline.nowMs();
  const wallNowMs = Math.max(timeline.toWallMs(nowMs), saved.savedMs); // The clock may have been set back.
  const instantOf = (wallMs: number, aheadMsMax: number): number => nowMs + Math.min(wallMs - wallNowMs, aheadMsMax);
  for (const { id, minute, day, streak, ban, lastMs = -Infinity, reliefs: appliedCount = Infinity } of saved.keys) {
    const restored = (bucket: Readonly<Bucket> | undefined, windowMs: number): Bucket =>
      bucket === undefined ? closedBucket() : { used: bucket.used, endsMs: instantOf(bucket.endsMs, windowMs) };
    const restoredBan = noBan();
    if (streak !== undefined) {
      restoredBan.refusalCount = streak.refusalCount;
      restoredBan.secondEndsMs = instantOf(streak.secondEndsMs, banRule.secondMs);
    }
    if (ban !== undefined) {
      restoredBan.untilMs = instantOf(ban.untilMs, ban.durationMs);
      restoredBan.durationMs = ban.durationMs;
    }
    const buckets = { minute: restored(minute, minuteMs), day: restored(day, dayMs) };
    limiter.keys.set(id, { ...buckets, ban: restoredBan, lastMs: instantOf(lastMs, 0) });
    const { reliefCount, resetNumber } = reliefs.get(id) ?? { reliefCount: 0, resetNumber: 0 };
    if (resetNumber > appliedCount) {
      limiter.reset(id);
    }
    if (reliefCount > appliedCount) {
      limiter.unban(id);
    }
  }
}
