/**
 * Copies what is sound in a damaged pets.jsonl to a new one.
 *
 * A sound line is found by its checksum, wherever it begins. Lines have numbers, so those of sound ones tell how many
 * are lost between them, and the next animal's id tells which animals are. Their ids become a gap, so that no animal
 * ever gets another's id. Nothing tells it of the file's end: as many ids are skipped as could have been there.
 */

import { counted } from "../base/counted.ts";
import { type ReadableFile, readFully, upTo } from "../disk/file-bytes.ts";
import { checksumBytes, endOfChecksummedLine } from "../base/checksum.ts";
import { chunkBytesMax, createChunk } from "../log/chunks.ts";
import { petStatuses } from "../pets/pet.ts";
import { gapIdMax } from "../store/catalogue.ts";
import { idempotencyHashCharacters } from "../store/idempotency-table.ts";
import { Gaps } from "../store/load-pets.ts";
import type { PetFileLines } from "./pet-file-lines.ts";
import { createPetLine, type LineContent, type PetLine, petLineBytesMax, readPetLine } from "../store/pet-line.ts";

const lineStart = Buffer.from('{"', "latin1");
/** Of an animal. */
const lineBytesMin = '{"id":1,"name":"x","categoryId":1,"status":"sold","group":1'.length + checksumBytes;

/**
 * Yields the bytes of the new file, and reports what it leaves out.
 * @param lines of the new file; none yet
 * @throws {Error} a newer release wrote a line
 */
export async function* salvagePets(
  whole: ReadableFile,
  lines: PetFileLines,
  report: (message: string) => void,
): AsyncGenerator<Uint8Array> {
  const file = upTo(whole, whole.size());
  const salvage = new Salvage(lines, report);
  const { bytes, view } = createChunk(Math.min(chunkBytesMax, file.size() + 1));
  for (let position = 0, isLast = false; !isLast; ) {
    const count = await readFully(file, bytes, position);
    isLast = count < bytes.length;
    // The next chunk has the lines whole that begin further on.
    const startsEnd = isLast ? count : count - petLineBytesMax;
    const seen = bytes.subarray(0, count);
    let start = seen.indexOf(lineStart);
    while (start >= 0 && start < startsEnd) {
      const end = endOfChecksummedLine(view, start, Math.min(count, start + petLineBytesMax));
      if (end >= 0) {
        salvage.take(view, start, end, position + start);
      }
      start = seen.indexOf(lineStart, Math.max(end, start + 1));
      if (lines.isFull) {
        yield lines.take();
      }
    }
    position += Math.max(start, startsEnd);
  }
  salvage.finish(file.size());
  yield lines.take();
}

class Salvage {
  readonly #lines: PetFileLines;
  readonly #report: (message: string) => void;
  readonly #line = createPetLine();
  readonly #gaps = new Gaps();
  /** Of the last sound line, and where the line after it begins. */
  #number = 0;
  #end = 0;
  /** Of the last animal, or gap, that is in both files; and the lines lost since, each of which may be an animal. */
  #lastId = 0;
  #lostCount = 0;

  constructor(lines: PetFileLines, report: (message: string) => void) {
    this.#lines = lines;
    this.#report = report;
  }

  /** Takes the sound line `[start, end)`, which begins at the byte `offset` of the file. */
  take(bytes: DataView, start: number, end: number, offset: number): void {
    const line = this.#line;
    const fault = readPetLine(bytes, start, end, line);
    if (fault !== undefined) {
      throw new Error(`byte ${offset}: ${fault.reason}`);
    }
    const { id, isChange, isGap, after, number } = line;
    const givesIds = isGap || !isChange;
    const { lastId } = this.#lines;
    if (number <= this.#number || (givesIds && id <= lastId) || (id > lastId + 1 && id > gapIdMax)) {
      this.#leaveOut(`line ${number}, byte ${offset}: it is not in its place`);
    } else {
      this.#passOver(number, offset);
      if (isGap) {
        this.#skipTo(after);
        this.#gaps.add({ id, after: this.#lines.lastId });
        this.#lines.skipTo(id);
      } else if (isChange) {
        this.#change(bytes, start, offset);
      } else {
        this.#skipTo(id - 1);
        this.#lines.add(contentOf(bytes, start, line), line.atSeconds);
      }
      if (givesIds) {
        [this.#lastId, this.#lostCount] = [id, 0];
      }
    }
    this.#end = offset + end - start + 1;
  }

  /** @param endBytes of the file */
  finish(endBytes: number): void {
    const restBytes = endBytes - this.#end;
    if (restBytes > 0) {
      const rest = restBytes === 1 ? "the last byte" : `the last ${restBytes} bytes`;
      this.#leaveOut(`${rest}, from line ${this.#number + 1}, byte ${this.#end} on: damaged or unfinished`);
    }
    const lostCount = this.#lostCount + Math.floor((Math.max(restBytes, 0) + 1) / lineBytesMin);
    this.#skipTo(this.#lastId + lostCount);
  }

  #change(bytes: DataView, start: number, offset: number): void {
    const { id, number, atSeconds } = this.#line;
    this.#skipTo(id); // If it is beyond the last one, its animal is lost.
    if (this.#gaps.has(id)) {
      this.#leaveOut(`line ${number}, byte ${offset}: it changes animal ${id}, which is left out`);
    } else {
      this.#lines.add(contentOf(bytes, start, this.#line), atSeconds);
    }
  }

  /** Leaves out what is between the last sound line and this one. */
  #passOver(number: number, offset: number): void {
    const first = this.#number + 1;
    const count = number - first;
    if (count > 0) {
      const which = count === 1 ? `line ${first}` : `lines ${first} to ${number - 1}`;
      this.#leaveOut(`${which}, byte ${this.#end}: damaged or missing`);
    } else if (offset > this.#end) {
      this.#leaveOut(`${counted(offset - this.#end, "byte")} before line ${number}, byte ${offset}`);
    }
    this.#lostCount += count;
    this.#number = number;
  }

  /** Makes a gap of the ids behind the last one, up to this. */
  #skipTo(id: number): void {
    const after = this.#lines.lastId;
    if (id > after) {
      const which = id === after + 1 ? `id ${id}` : `ids ${after + 1} to ${id}`;
      this.#leaveOut(`${which}, which no animal will have`);
      this.#gaps.add({ id, after });
      this.#lines.skipTo(id);
    }
  }

  #leaveOut(what: string): void {
    this.#report(`left out ${what}`);
  }
}

function contentOf(bytes: DataView, start: number, line: PetLine): LineContent {
  const { id, isChange, statusIndex, statusStart, hashStart } = line;
  const text = (from: number, to: number): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString();
  const json = isChange ? "" : `${text(start, statusStart)}${petStatuses[statusIndex]}"}`;
  const idempotencyHash = hashStart === 0 ? undefined : text(hashStart, hashStart + idempotencyHashCharacters);
  return { id, isChange, statusIndex, json, idempotencyHash };
}
