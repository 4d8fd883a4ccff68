/**
 * Reads lines of keys.jsonl into a ring, from wherever it stopped before, while others may be appending.
 */

import type { DiskFile } from "../disk/disk.ts";
import { endOfChecksummedLine } from "../log/checksum.ts";
import type { LineFault, LineReader, LogEnd } from "../log/reader.ts";
import { lineBytesMax, readLog } from "../log/reader.ts";
import { decodeKeyEvent } from "./key-event.ts";
import type { CreatePlan } from "./key.ts";
import type { Keyring } from "./keyring.ts";

/** Applies lines to a ring, and knows how far it has come, also when reading breaks off. */
export class KeyReader implements LineReader {
  offset = 0;
  lineCount = 0;
  readonly #ring: Keyring;
  readonly #createPlan: CreatePlan;
  readonly #onUnban: (keyId: string, offset: number) => void;

  constructor(ring: Keyring, createPlan: CreatePlan, onUnban: (keyId: string, offset: number) => void) {
    this.#ring = ring;
    this.#createPlan = createPlan;
    this.#onUnban = onUnban;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const decoded = decodeKeyEvent(bytes, start, end, this.#createPlan);
    if (decoded.kind === "fault") {
      return decoded.fault;
    }
    const reason = this.#ring.apply(decoded.event);
    if (reason !== undefined) {
      return { kind: "wrong", reason };
    }
    if (decoded.event.event === "unbanned") {
      this.#onUnban(decoded.event.id, this.offset);
    }
    this.offset += end + 1 - start;
    this.lineCount += 1;
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    return endOfChecksummedLine(bytes, start, end) > 0;
  }
}

/** Reads on from where the reader stands, up to where the file ends now: what comes meanwhile is for the next look. */
export function readOn(file: DiskFile, reader: KeyReader): Promise<LogEnd> {
  return readLog(file, reader, { from: reader.offset, to: file.size(), tornBytesMax: lineBytesMax + 1 });
}
