/**
 * Keeps the limits of all keys across restarts, in limits.json: one line of JSON with a checksum (log/checksum.ts),
 * replaced as a whole.
 *
 *     {"version":1,"savedMs":…,"keys":[key, …],"crc":"xxxxxxxx"}
 *
 * A restart neither gives tokens back nor lifts a ban. However the clock was set, a bucket stays open for its window at
 * most, and a ban for its length.
 *
 * Release 1.0 wrote a further member, `keyLogBytes`, which is ignored.
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";

import type { Disk, Lock } from "../disk/disk.ts";
import { messageOf, readError } from "../base/error-message.ts";
import { readWholeFile, replaceFile, setFileAside } from "../disk/replace-file.ts";
import { checksumText, hasChecksum, viewOf } from "../log/checksum.ts";
import { type Ban, isRemembered } from "./ban.ts";
import { type Bucket, dayMs, isOpen, minuteMs } from "./bucket.ts";
import { type KeyLimits, shifted, unusedLimits } from "./key-limits.ts";
import type { MemoryLimiter } from "./memory-limiter.ts";

/** The limits of one key, without those that are over. Instants are Unix milliseconds. */
export interface SavedKey {
  readonly id: string;
  readonly minute?: Readonly<Bucket>;
  readonly day?: Readonly<Bucket>;
  readonly streak?: Pick<Readonly<Ban>, "refusalCount" | "secondEndsMs">;
  readonly ban?: Pick<Readonly<Ban>, "untilMs" | "durationMs">;
  /** Of the last request. Releases before 1.2 did not write it. */
  readonly lastMs?: number;
}

export interface SavedLimits {
  readonly version: number;
  /** Unix milliseconds. */
  readonly savedMs: number;
  readonly keys: readonly SavedKey[];
}

/** When a key was last unbanned and last reset, in Unix milliseconds: what was saved before ends with it. */
export interface Reliefs {
  get(keyId: string): { readonly unbannedMs?: number | undefined; readonly resetMs?: number | undefined } | undefined;
}

export interface LimitsSnapshotOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  /** Of the folder. If it is not in place, the folder is another one, and its limits are not replaced. */
  readonly lock: Pick<Lock, "isInPlace">;
  readonly limiter: MemoryLimiter;
  readonly report: (message: string) => void;
  readonly reliefs?: Reliefs;
}

export const limitsFileName = "limits.json";
const formatVersion = 1;
const newline = 0x0a;
const secondMs = 1_000;

/** Keys that are encoded in one turn of the event loop: about 1 ms. */
const keysPerPiece = 500;

export class LimitsSnapshot {
  readonly #options: LimitsSnapshotOptions;
  readonly #path: string;
  /** The limiter's `changeCount` that is on disk. Limits that nothing has changed since the opening need no save. */
  #savedCount = 0;
  #isFailing = false;
  #lastSave: Promise<void> = Promise.resolve();
  #waitingSave: Promise<void> | undefined;

  /**
   * Restores the limiter from the file. A damaged file is set aside with a warning, and all limits start unused.
   *
   * @throws {Error} naming the file, if it exists and cannot be read
   */
  static async open(options: LimitsSnapshotOptions): Promise<LimitsSnapshot> {
    const snapshot = new LimitsSnapshot(options);
    await snapshot.#restore();
    return snapshot;
  }

  private constructor(options: LimitsSnapshotOptions) {
    this.#options = options;
    this.#path = join(options.dataDir, limitsFileName);
  }

  /**
   * Resolves when the limits as they are now, or later ones, are on disk, or could not be written. A failure is
   * reported once until a save succeeds; each call tries again. Saves never overlap: one runs, and at most one waits.
   */
  save(): Promise<void> {
    this.#waitingSave ??= this.#lastSave = this.#lastSave.then(() => {
      this.#waitingSave = undefined;
      return this.#save();
    });
    return this.#waitingSave;
  }

  async #save(): Promise<void> {
    const { disk, dataDir, lock, limiter } = this.#options;
    const { changeCount } = limiter;
    if (changeCount === this.#savedCount) {
      return;
    }
    try {
      if (!(await lock.isInPlace())) {
        throw new Error(`${dataDir} leads to another folder or to none, or its lock was removed`);
      }
      await replaceFile(disk, this.#path, snapshotPieces(limiter));
      this.#savedCount = changeCount;
      this.#reportChange(false, "the limits can be saved again");
    } catch (error) {
      this.#reportChange(true, `warning: the limits cannot be saved, a restart would forget them: ${messageOf(error)}`);
    }
  }

  /** Reports the first failure, and the first success after it. */
  #reportChange(isFailing: boolean, message: string): void {
    if (isFailing === this.#isFailing) {
      return;
    }
    this.#isFailing = isFailing;
    this.#options.report(message);
  }

  async #restore(): Promise<void> {
    const { disk, dataDir, limiter, report, reliefs } = this.#options;
    const saved = await readSavedLimits(disk, dataDir);
    if (saved === undefined) {
      return;
    }
    if (typeof saved === "string") {
      const asidePath = await setFileAside(disk, this.#path);
      report(`warning: ${this.#path} ${saved} and was moved to ${asidePath}; all limits start unused`);
      return;
    }
    restoreLimits(limiter, saved, reliefs);
  }
}

/**
 * Reads limits.json. Returns undefined if there is none, and if it is damaged, the reason, which follows "limits.json".
 *
 * @throws {Error} naming the file, if it cannot be read
 */
export async function readSavedLimits(disk: Disk, dataDir: string): Promise<SavedLimits | string | undefined> {
  const path = join(dataDir, limitsFileName);
  const bytes = await readWholeFile(disk, path).catch((error: unknown) => {
    throw readError(path, error);
  });
  return bytes && decodeSnapshot(bytes);
}

/** Returns the saved limits, or why they cannot be used: text that follows the file's name. */
export function decodeSnapshot(bytes: Uint8Array): SavedLimits | string {
  if (bytes.at(-1) !== newline || !hasChecksum(viewOf(bytes), 0, bytes.length - 1)) {
    return "is damaged";
  }
  // The checksum proves that this program wrote it.
  const saved = JSON.parse(Buffer.from(bytes).toString()) as SavedLimits;
  return saved.version === formatVersion ? saved : "was written by another release";
}

/** The content of the file, in pieces: each is made when it is asked for, and requests may be decided in between. */
export function* snapshotPieces(limiter: MemoryLimiter): Generator<string> {
  const nowMs = limiter.timeline.nowMs();
  const savedMs = limiter.timeline.toWallMs(nowMs);
  let crc = 0;
  let piece = `{"version":${formatVersion},"savedMs":${savedMs},"keys":[`;
  let separator = "";
  let keyCount = 0;
  for (const [keyId, limits] of limiter.keys) {
    const saved = savedKey(keyId, shifted(limits, savedMs - nowMs), savedMs);
    if (saved === undefined) {
      limiter.forget(keyId);
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
  // With both buckets closed the next request is served, or refused by a ban: either way a streak does not matter.
  const hasStreak = isAnyOpen && refusalCount > 0;
  return {
    id,
    ...(isOpen(minute, nowMs) ? { minute } : {}),
    ...(isOpen(day, nowMs) ? { day } : {}),
    ...(hasStreak ? { streak: { refusalCount, secondEndsMs } } : {}),
    ...(isRemembered(ban, nowMs) ? { ban: { untilMs, durationMs } } : {}),
    ...(lastMs > 0 ? { lastMs } : {}),
  };
}

/** Sets the limits of every saved key. */
export function restoreLimits(
  limiter: MemoryLimiter,
  { savedMs, keys }: SavedLimits,
  reliefs: Reliefs = new Map(),
): void {
  const { timeline } = limiter;
  const nowMs = timeline.nowMs();
  const setBackMs = Math.max(0, savedMs - timeline.toWallMs(nowMs));
  const instantOf = (wallMs: number, aheadMsMax: number): number =>
    Math.min(timeline.fromWallMs(wallMs) - setBackMs, nowMs + aheadMsMax);
  for (const { id, minute, day, streak, ban, lastMs = -Infinity } of keys) {
    const { unbannedMs = 0, resetMs = 0 } = reliefs.get(id) ?? {};
    const limits = unusedLimits();
    if (minute !== undefined && minute.endsMs - minuteMs > resetMs) {
      Object.assign(limits.minute, { used: minute.used, endsMs: instantOf(minute.endsMs, minuteMs) });
    }
    if (day !== undefined && day.endsMs - dayMs > resetMs) {
      Object.assign(limits.day, { used: day.used, endsMs: instantOf(day.endsMs, dayMs) });
    }
    if (streak !== undefined) {
      const { refusalCount, secondEndsMs } = streak;
      Object.assign(limits.ban, { refusalCount, secondEndsMs: instantOf(secondEndsMs, secondMs) });
    }
    const setMs = ban === undefined ? 0 : ban.untilMs - ban.durationMs;
    if (ban !== undefined && setMs > resetMs) {
      const { untilMs, durationMs } = ban;
      const endMs = setMs > unbannedMs ? untilMs : Math.min(untilMs, unbannedMs);
      Object.assign(limits.ban, { untilMs: instantOf(endMs, durationMs), durationMs });
    }
    limiter.restore(id, { ...limits, lastMs: instantOf(lastMs, 0) });
  }
}
