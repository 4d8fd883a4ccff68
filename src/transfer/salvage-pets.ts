/**
 * Writes a new pets.jsonl with the intact lines of a damaged one, as they stand there, and says what is lost.
 *
 * A line is lost if its number is missing. The next animal's id tells which ids the lost lines before it had. They
 * become a gap, so that no animal ever gets another's id. All lost lines but one of these may have been changes. Behind
 * the last animal they may be animals, too, as may the bytes behind the last line: so many ids are skipped.
 */

import { checksumBytes, textOf } from "../base/checksum.ts";
import { pluralize } from "../base/pluralize.ts";
import { readBytes, type ReadableFile } from "../disk/file-bytes.ts";
import { findLines, type FoundLine } from "../log/reader.ts";
import { HierarchicalBitSet } from "../store/hierarchical-bit-set.ts";
import { idempotencyHashCharacters } from "../store/idempotency-table.ts";
import {
  createPetLine, fileStatuses, type LineContent, type PetLine, petLineBytesMax, readPetLine, removedIndex,
} from "../store/pet-line.ts";
import { Versions } from "../store/versions.ts";
import type { PetFileLines } from "./pet-file-lines.ts";

/** The shortest line. */
const lineBytesMin = '{"id":1,"status":"sold","line":2,"group":2'.length + checksumBytes;

/**
 * Yields the bytes of the new file.
 * @param lines the lines of the new file, none so far
 * @param say called with each loss, in words
 * @throws {Error} lines are not in the order of their numbers or versions, or a newer release wrote one
 */
export async function* salvagePets(
  file: ReadableFile,
  lines: PetFileLines,
  say: (loss: string) => void,
): AsyncGenerator<Uint8Array> {
  const line = createPetLine();
  const present = new HierarchicalBitSet();
  const versions = new Versions();
  let [lastNumber, endOffset] = [0, 0];
  let [lostCount, lostIdCount, changeCount] = [0, 0, 0]; // The first two since the last animal or gap.
  const loseIds = (id: number, what: string): void => {
    const after = lines.lastId;
    if (id > after) {
      const orGap = id - after > lostCount - lostIdCount ? ", or gone before" : "";
      say(`${what}: ${rangeOf("animal", after, id)}${orGap}; no other animal gets the id`);
      lines.skipTo(id);
      lostIdCount += id - after;
    }
  };
  /** If ids are lost, at least one line was an animal, or a gap with all of them. Each other one may be a change. */
  const changesAtMost = (): number => lostCount - Math.min(lostCount, lostIdCount, 1);
  for await (const found of findLines(file, 0, petLineBytesMax)) {
    if (!isPetLine(found, line)) {
      continue;
    }
    const { id, kind, after, statusIndex, atSeconds } = line;
    const isChange = kind === "change" || kind === "correction";
    const place = `the line with number ${line.number}, at byte ${found.offset},`;
    const knownVersion = isChange ? versions.of(id) : 0; // Less than it was, if lines are lost that made others.
    mustFollow(line, isChange, place, { number: lastNumber, id: lines.lastId, version: knownVersion });
    if (line.number > lastNumber + 1) {
      say(`lost: ${rangeOf("line", lastNumber, line.number - 1)}, in bytes ${endOffset} to ${found.offset}`);
    }
    lostCount += line.number - lastNumber - 1;
    [lastNumber, endOffset] = [line.number, found.offset + found.end - found.start + 1];
    loseIds(isChange ? id : kind === "gap" ? after : id - 1, "lost");
    if (isChange && !present.has(id)) {
      say(`left out ${place} by which animal ${id} changed: it is lost or removed`);
      continue;
    }
    if (!isChange) {
      changeCount += changesAtMost();
      [lostCount, lostIdCount] = [0, 0];
    }
    if (kind === "create") {
      present.add(id);
    } else if (isChange && statusIndex === removedIndex) {
      present.delete(id);
    }
    if (kind === "gap") {
      lines.skipTo(id);
    } else {
      versions.set(id, line.version || knownVersion + 1);
      lines.add(contentOf(found, line), atSeconds);
    }
    if (lines.isFull) {
      yield lines.take();
    }
  }
  const { lastId } = lines;
  const restBytes = Math.max(file.size() - endOffset, 0); // The last line may lack its newline.
  const rest = await readBytes(file, Math.min(restBytes, lineBytesMin), endOffset);
  if (rest.length === lineBytesMin || rest.toString("latin1").trim() !== "") {
    say(`lost: ${pluralize(restBytes, "byte")} behind the last line`);
    lostCount += Math.max(1, Math.floor(restBytes / lineBytesMin));
  }
  changeCount += changesAtMost();
  loseIds(lastId + changesAtMost(), "perhaps lost, if there were such");
  if (changeCount > 0 && lastId > 0) {
    const doubt = `each animal up to id ${lastId} may be as it was earlier, also its version, or be removed`;
    say(`lost lines may be changes or removals: ${doubt}`);
  }
  yield lines.take();
}

/** Lines of keys.jsonl and limits.json have such checksums, too. A disk may have written them here. */
const otherLine = /^\{"(?:event|version)":/;

/** Whether it is a line of animals, which is read into `line`. @throws {Error} a newer release wrote it */
function isPetLine({ view, start, end, offset }: FoundLine, line: PetLine): boolean {
  const fault = readPetLine(view, start, end, line);
  if (fault !== undefined && !otherLine.test(textOf(view, start, end))) {
    throw new Error(`byte ${offset}: ${fault.reason}`);
  }
  return fault === undefined;
}

/** @param last the last number and id, and the animal's last version @throws {Error} the line breaks the order */
function mustFollow(
  { number, id, version }: PetLine,
  isChange: boolean,
  place: string,
  last: Readonly<Pick<PetLine, "number" | "id" | "version">>,
): void {
  const isBehind = number <= last.number || (!isChange && id <= last.id);
  if (isBehind || (version > 0 && version < last.version)) {
    const breach = isBehind ? "stands behind a later one" : `has version ${version} after version ${last.version}`;
    const reason = "lines were moved or doubled, or two histories are mixed";
    throw new Error(`${place} ${breach}: ${reason}. Cut out of a copy what is wrong, and salvage that`);
  }
}

function rangeOf(noun: string, after: number, last: number): string {
  return last === after + 1 ? `${noun} ${last}` : `${noun}s ${after + 1} to ${last}`;
}

function contentOf({ view, start }: FoundLine, line: PetLine): LineContent {
  const { id, kind, statusIndex, version, statusStart, hashStart } = line;
  const json = kind === "change" ? "" : `${textOf(view, start, statusStart)}${fileStatuses[statusIndex]}"}`;
  const hashEnd = hashStart + idempotencyHashCharacters;
  const idempotencyHash = hashStart === 0 ? undefined : textOf(view, hashStart, hashEnd);
  return { id, kind, statusIndex, version, json, idempotencyHash };
}
