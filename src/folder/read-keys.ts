/** Reads a whole keys.jsonl; keys/key-line.ts has the grammar of its lines. */

import { endOfChecksummedLine } from "../base/checksum.ts";
import { type ReadableFile, readFully } from "../disk/file-bytes.ts";
import { decodeKeyEvent, keyLineBytesMax } from "../keys/key-line.ts";
import type { Keyring } from "../keys/keyring.ts";
import { type LineReader, type LogEnd, readLog, type TornEnd } from "../log/reader.ts";

/** Bytes of lines that are applied in one turn of the event loop: about 2 ms. */
const turnBytesMax = 65_536;

/** Applies the lines to the ring, up to the first fault. Resolves to how the file ends. */
export async function applyKeyLines(file: ReadableFile, ring: Keyring): Promise<LogEnd> {
  const lines: LineReader = {
    take(bytes, start, lineEnd) {
      const event = decodeKeyEvent(bytes, start, lineEnd);
      if ("kind" in event) {
        return event;
      }
      const reason = ring.apply(event);
      return reason === undefined ? undefined : { kind: "wrong", reason };
    },
    provesEarlierLines: (bytes, start, lineEnd) => endOfChecksummedLine(bytes, start, lineEnd) > 0,
  };
  const inTurns: ReadableFile = {
    read: (target, position) => file.read(target.subarray(0, turnBytesMax), position),
    size: () => file.size(),
  };
  const end = await readLog(inTurns, lines, { tornBytesMax: keyLineBytesMax });
  if (end.kind !== "torn") {
    return end;
  }
  const { lengthBytes: offset, lineCount, reason } = end;
  const torn = Buffer.alloc(end.tornBytes);
  await readFully(file, torn, offset);
  // A crash damages one line only. A newline does not show that another one follows: it may be junk.
  return torn.includes('\n{"event":"') ? { kind: "corrupt", lineNumber: lineCount + 1, offset, reason } : end;
}

export function tornKeyText(path: string, { tornBytes, reason }: TornEnd): string {
  const bytes = tornBytes === 1 ? "1 byte that is" : `${tornBytes} bytes that are`;
  return `${path} ends in ${bytes} not a sound line: ${reason}`;
}
