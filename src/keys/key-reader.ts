import { setImmediate as eventLoopTurn } from "node:timers/promises";

import type { ReadableFile } from "../disk/file-bytes.ts";
import { endOfChecksummedLine } from "../log/checksum.ts";
import { type LineReader, readLog } from "../log/reader.ts";
import { decodeKeyEvent, keyLineBytesMax } from "./key-line.ts";
import type { Relief } from "./key.ts";
import type { Keyring } from "./keyring.ts";

/** What is wrong with keys.jsonl. */
export interface FileFault {
  /** "torn": an unfinished line follows the sound ones. "replaced": what was applied before is not there any more. */
  readonly kind: "torn" | "corrupt" | "replaced";
  /** Continues a sentence after the file's name. */
  readonly text: string;
}

/** Bytes of lines that are applied in one turn of the event loop: about 2 ms. */
const turnBytesMax = 65_536;

/** Applies the lines from `from` on to the ring, up to the first fault. Resolves to the length of the sound lines. */
export async function applyKeyLines(
  content: Buffer,
  from: number,
  ring: Keyring,
  onRelief?: (event: Relief) => void,
): Promise<{ readonly lengthBytes: number; readonly fault: FileFault | undefined }> {
  const inTurns: ReadableFile = {
    read: async (target, position) => {
      await eventLoopTurn();
      return content.subarray(from + position, from + position + turnBytesMax).copy(target);
    },
    size: () => content.length - from,
  };
  const lines: LineReader = {
    take(bytes, start, lineEnd) {
      const event = decodeKeyEvent(bytes, start, lineEnd);
      if ("kind" in event) {
        return event;
      }
      const reason = ring.apply(event);
      if (reason === undefined && (event.event === "unbanned" || event.event === "reset")) {
        onRelief?.(event);
      }
      return reason === undefined ? undefined : { kind: "wrong", reason };
    },
    provesEarlierLines: (bytes, start, lineEnd) => endOfChecksummedLine(bytes, start, lineEnd) > 0,
  };
  const end = await readLog(inTurns, lines, { tornBytesMax: keyLineBytesMax });
  if (end.kind === "whole") {
    return { lengthBytes: content.length, fault: undefined };
  }
  const lengthBytes = from + (end.kind === "torn" ? end.lengthBytes : end.offset);
  // A crash damages one line only. A newline does not show that another one follows: it may be junk.
  if (end.kind === "torn" && !content.includes('\n{"event":"', lengthBytes)) {
    const bytes = end.tornBytes === 1 ? "1 byte that is" : `${end.tornBytes} bytes that are`;
    return { lengthBytes, fault: { kind: "torn", text: `ends in ${bytes} not a sound line: ${end.reason}` } };
  }
  const lineNumber = content.toString("latin1", 0, lengthBytes).split("\n").length;
  const text = `is damaged at line ${lineNumber}, byte ${lengthBytes}: ${end.reason}`;
  return { lengthBytes, fault: { kind: "corrupt", text } };
}
