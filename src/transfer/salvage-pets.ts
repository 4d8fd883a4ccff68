/**
 * Writes a new pets.jsonl with the intact lines of a damaged one, and says what is lost.
 *
 * A line is lost if its number is missing. The next animal's id tells how many of the lost lines before it were
 * animals. Their ids become a gap, so that no animal ever gets another's id. All other lost lines were changes. For
 * instance, lines 1 and 2 create animals 1 and 2, lines 3 and 4 are lost, and line 5 creates animal 4. So one of the
 * lost lines created animal 3, whose id becomes a gap, and the other changed or removed animal 1, 2 or 3.
 *
 * After the last line nothing shows what was there, so as many ids are skipped as the damaged bytes could have held.
 */

import { textOf } from "../base/checksum.ts";
import type { ReadableFile } from "../disk/file-bytes.ts";
import { gapIdMax } from "../store/catalogue.ts";
import { HierarchicalBitSet } from "../store/hierarchical-bit-set.ts";
import { idempotencyHashCharacters } from "../store/idempotency-table.ts";
import { Gaps } from "../store/load-pets.ts";
import { fileStatuses, type LineContent, removedIndex } from "../store/pet-line.ts";
import { type IntactLine, linesAt } from "./intact-lines.ts";
import type { PetFileLines } from "./pet-file-lines.ts";
import { type Change, type Damage, type Survey, surveyOf } from "./survey.ts";

/**
 * Yields the bytes of the new file.
 * @param file read twice; it must not change meanwhile
 * @param lines the lines of the new file, none so far
 * @param say called with each loss, in words
 * @throws {Error} two histories are in the file, or a newer release wrote a line
 */
export async function* salvagePets(
  file: ReadableFile,
  lines: PetFileLines,
  say: (loss: string) => void,
): AsyncGenerator<Uint8Array> {
  const survey = await surveyOf(file, say);
  const salvage = new Salvage(survey, lines, say);
  for await (const found of linesAt(file, survey.places.inOrder())) {
    salvage.take(found);
    if (lines.isFull) {
      yield lines.take();
    }
  }
  salvage.finish();
  yield lines.take();
}

class Salvage {
  readonly #survey: Survey;
  readonly #lines: PetFileLines;
  readonly #say: (loss: string) => void;
  readonly #gaps = new Gaps();
  readonly #removed = new HierarchicalBitSet();
  /** The number of the last intact line. */
  #number = 0;
  /** The id of the last intact animal or gap. */
  #lastProvenId = 0;
  /** How many lines were lost after that animal or gap. */
  #lostCount = 0;
  /** How many of the lines that were lost before it were changes. */
  #lostChangeCount = 0;
  /** Animals of which a lost change can be read, each with its last one, unless an intact change follows that. */
  readonly #changed: Map<number, Change>;

  constructor(survey: Survey, lines: PetFileLines, say: (loss: string) => void) {
    this.#survey = survey;
    this.#lines = lines;
    this.#say = say;
    const changes = survey.changes.toSorted((one, other) => one.number - other.number);
    this.#changed = new Map(changes.map((change) => [change.id, change]));
  }

  /** Takes the next line by number. */
  take(found: IntactLine): void {
    const { line, offset } = found;
    const { id, kind, after, number } = line;
    const place = `line ${number}, byte ${offset},`;
    this.#passTo(number);
    const { lastId } = this.#lines;
    const isPlaced = kind === "change" || id > lastId;
    if (!isPlaced || (id > lastId + 1 && id > gapIdMax)) {
      this.#say(`left out ${place} which has id ${id}: it is not in its place`);
      return;
    }
    this.#loseIds(kind === "change" ? id : kind === "gap" ? after : id - 1);
    if (kind === "change" && (this.#gaps.has(id) || this.#removed.has(id))) {
      const reason = this.#removed.has(id) ? "it was removed before" : "it is lost";
      this.#say(`left out ${place} by which animal ${id} became ${fileStatuses[line.statusIndex]}: ${reason}`);
      return;
    }
    if (kind === "change" && line.statusIndex === removedIndex) {
      this.#removed.add(id);
    }
    if (kind !== "change") {
      this.#settle(id);
    }
    if (kind === "gap") {
      this.#gaps.add({ id, after: this.#lines.lastId });
      this.#lines.skipTo(id);
    } else {
      this.#lines.add(contentOf(found), line.atSeconds);
    }
    if (number > (this.#changed.get(id)?.number ?? Infinity)) {
      this.#changed.delete(id);
    }
  }

  /** Says what may be lost besides the missing animals. To be called after the last line. */
  finish(): void {
    const { behindLast } = this.#survey;
    const lostCount = this.#lostCount + sumOf(behindLast, ({ lineCount }) => lineCount);
    const { lastId } = this.#lines;
    this.#skipPerhapsLost(lostCount);
    const animalCount = sumOf(behindLast, (damage) => damage.animalCount);
    this.#sayWhetherAnyMayBeWrong(lastId, this.#lostChangeCount + lostCount - animalCount);
    this.#sayReadChanges(lastId);
  }

  /** Skips the ids of all animals that the lines lost after the last intact animal or gap may have created. */
  #skipPerhapsLost(lostCount: number): void {
    const { lastId } = this.#lines;
    // Lines that read as changes count, too: what is damaged proves nothing.
    const id = Math.min(this.#lastProvenId + lostCount, Math.max(gapIdMax, lastId));
    if (id > lastId) {
      this.#say(`perhaps lost, if there were such: ${rangeOf("animal", lastId, id)}; no other animal gets the id`);
      this.#lines.skipTo(id);
    }
  }

  /** If every lost change can be read, only those animals are in doubt. Otherwise any animal is. */
  #sayWhetherAnyMayBeWrong(lastId: number, lostChangeCount: number): void {
    const { changes } = this.#survey;
    const readCount = new Set(changes.map(({ number }) => number)).size;
    const areAllRead = lostChangeCount <= readCount && changes.every(({ id }) => id <= lastId);
    if (!areAllRead && lastId > 0) {
      const before = "may have the status before its last one, or may be removed";
      this.#say(`lost lines may be changes or removals, so that each animal up to id ${lastId} ${before}`);
    }
  }

  #sayReadChanges(lastId: number): void {
    for (const { id, isRemoval } of this.#changed.values()) {
      if (id <= lastId && !this.#gaps.has(id) && !this.#removed.has(id)) {
        const [what, effect] = isRemoval
          ? ["the removal", "it, or another if the id is damaged, is there again"]
          : ["a change", "its status, or another's if the id is damaged, may be the one before"];
        this.#say(`a lost line reads as ${what} of animal ${id}: ${effect}`);
      }
    }
  }

  #passTo(number: number): void {
    const count = number - this.#number - 1;
    if (count > 0) {
      this.#say(`${rangeOf("line", this.#number, number - 1)} ${count === 1 ? "is" : "are"} missing`);
    }
    this.#lostCount += count;
    this.#number = number;
  }

  /** Makes a gap of the ids after the last one, up to this one: their animals are lost. */
  #loseIds(id: number): void {
    const after = this.#lines.lastId;
    if (id > after) {
      const isGapLost = id - this.#lastProvenId > this.#lostCount; // So few lines could not give so many ids.
      const which = isGapLost ? `no animal has ${rangeOf("id", after, id)}` : `lost: ${rangeOf("animal", after, id)}`;
      this.#say(`${which}; no other animal gets the id`);
      this.#gaps.add({ id, after });
      this.#lines.skipTo(id);
    }
  }

  /**
   * An intact animal or gap proves how many ids were lost before it. Each lost id was one line, the other lost lines
   * were changes; if there are more ids than lines, one of the lines was a gap.
   */
  #settle(id: number): void {
    const lostIdCount = this.#lines.lastId - this.#lastProvenId;
    this.#lostChangeCount += this.#lostCount - (lostIdCount > this.#lostCount ? 1 : lostIdCount);
    this.#lastProvenId = id;
    this.#lostCount = 0;
  }
}

function rangeOf(noun: string, after: number, last: number): string {
  return last === after + 1 ? `${noun} ${last}` : `${noun}s ${after + 1} to ${last}`;
}

function sumOf(damages: readonly Damage[], count: (damage: Damage) => number): number {
  return damages.reduce((sum, damage) => sum + count(damage), 0);
}

function contentOf({ view, start, line }: IntactLine): LineContent {
  const { id, kind, statusIndex, statusStart, hashStart } = line;
  const json = kind === "change" ? "" : `${textOf(view, start, statusStart)}${fileStatuses[statusIndex]}"}`;
  const hashEnd = hashStart + idempotencyHashCharacters;
  const idempotencyHash = hashStart === 0 ? undefined : textOf(view, hashStart, hashEnd);
  return { id, kind, statusIndex, json, idempotencyHash };
}
