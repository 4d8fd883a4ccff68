/**
 * Copies what is intact in a damaged pets.jsonl to a new one, and says what is lost.
 *
 * Of a lost line the numbers of its neighbours are known, and the next animal's id, which tells how many of the lost
 * lines were animals. Their ids become a gap, so that no animal ever gets another's id. All other lost lines were
 * changes. Nothing tells it of the file's end: as many ids are skipped as could have been there.
 */

import { checksumBytes, textOf } from "../base/checksum.ts";
import { pluralize } from "../base/pluralize.ts";
import { type ReadableFile, readBytes } from "../disk/file-bytes.ts";
import { petStatuses } from "../pets/pet.ts";
import { gapIdMax } from "../store/catalogue.ts";
import { idempotencyHashCharacters } from "../store/idempotency-hashes.ts";
import { Gaps } from "../store/load-pets.ts";
import type { LineContent } from "../store/pet-line.ts";
import { bytesOf, type ChosenLines, type IntactLine, linesOf, type Part } from "./intact-lines.ts";
import type { PetFileLines } from "./pet-file-lines.ts";

/** A line that has no neighbour, and would skip more ids, may be one of another file. */
const loneSkipMax = 1_000;

/** Yields the bytes of the new file. @param lines of the new file; none yet @param lose called for whatever is lost */
export async function* salvagePets(
  chosen: ChosenLines,
  lines: PetFileLines,
  lose: (what: string) => void,
): AsyncGenerator<Uint8Array> {
  const { file, taken, others } = chosen;
  const salvage = new Salvage(lines, lose);
  for (const { first, next } of others) {
    lose(`left out, since another writer wrote other lines: ${rangeOf("line", first - 1, next - 1)}`);
  }
  const isLone = (index: number): boolean => {
    const { first, next } = taken[index]!;
    return next - first === 1 && first !== (taken[index - 1]?.next ?? 1) && taken[index + 1]?.first !== next;
  };
  const lastKnown = taken.findLastIndex((_, index) => !isLone(index));
  let before: Part | undefined;
  for (const [index, part] of taken.entries()) {
    if (before?.next !== part.first) {
      salvage.damaged(await damageBetween(chosen, before, part));
    }
    for await (const found of linesOf(file, part)) {
      salvage.take(found, isLone(index), index > lastKnown);
      if (lines.isFull) {
        yield lines.take();
      }
    }
    before = part;
  }
  const end = before?.run.end ?? 0;
  const copied = chosen.copies.filter((run) => run.start >= end).reduce((sum, run) => sum + run.next - run.first, 0);
  salvage.finish(await damageBetween(chosen, before, undefined), copied);
  yield lines.take();
}

/** Yields the lines that disagree with those that are salvaged. */
export async function* otherLines({ file, others }: ChosenLines): AsyncGenerator<Uint8Array> {
  for (const part of others) {
    for await (const found of linesOf(file, part)) {
      yield bytesOf(found);
    }
  }
}

/** Where lines between the two may have been. `before` is undefined at the beginning, `next` at the end. */
function damageBetween(
  { file, firstStart, lastEnd }: ChosenLines,
  before: Part | undefined,
  next: Part | undefined,
): Promise<Damage[]> {
  const places = new Map<number, number>(); // Often both are the same place.
  const add = (from: number, to: number): void => void (from < to && places.set(from, to));
  if (before?.next === before?.run.next) {
    add(before?.run.end ?? 0, before?.run.damageEnd ?? firstStart);
  }
  if (next?.first === next?.run.first) {
    add(next?.run.damageStart ?? lastEnd, next?.run.start ?? file.size());
  }
  return Promise.all(Array.from(places, ([from, to]) => readDamage(file, from, to)));
}

class Salvage {
  readonly #lines: PetFileLines;
  readonly #lose: (what: string) => void;
  readonly #gaps = new Gaps();
  /** Of the last intact line. */
  #number = 0;
  /** Of the last animal, or gap, that is in both files; and the lines lost since, with what can be read of them. */
  #lastId = 0;
  #lostCount = 0;
  #lostAnimalCount = 0;
  #lostChangeCount = 0;
  /** Places of lines that are missing before the next intact one. */
  #damages: readonly Damage[] = [];
  /** Animals of which a lost change can be read; and any of those up to this id may have lost another. */
  readonly #changedIds = new Set<number>();
  #changedIdMax = 0;

  constructor(lines: PetFileLines, lose: (what: string) => void) {
    this.#lines = lines;
    this.#lose = lose;
  }

  /** Before the next line that is taken lines are missing. */
  damaged(damages: readonly Damage[]): void {
    this.#damages = [...this.#damages, ...damages];
  }

  /**
   * Takes the next line by number.
   * @param isLone the lines before it and after it are missing
   * @param isLast all lines after it are lone ones, if there are any
   */
  take(found: IntactLine, isLone: boolean, isLast: boolean): void {
    const { line, offset } = found;
    const { id, kind, after, number } = line;
    const givesIds = kind !== "change";
    const { lastId } = this.#lines;
    const place = `line ${number}, byte ${offset},`;
    const skipped = Math.max(id - lastId, isLast ? number - this.#number : 0) - 1;
    if (isLone && skipped > loneSkipMax) {
      this.#lose(`left out ${place} which would skip ${skipped} ids: no line beside it is there`);
      return;
    }
    this.#passTo(number);
    if ((givesIds && id <= lastId) || (id > lastId + 1 && id > gapIdMax)) {
      this.#lose(`left out ${place} which has id ${id}: it is not in its place`);
      return;
    }
    if (givesIds) {
      const lostIdCount = Math.max((kind === "gap" ? after : id - 1) - this.#lastId, 0);
      this.#loseIds(this.#lastId + lostIdCount);
      this.#findChanges(lostIdCount > this.#lostCount ? 1 : lostIdCount);
      [this.#lastId, this.#lostCount, this.#lostAnimalCount, this.#lostChangeCount] = [id, 0, 0, 0];
    } else {
      this.#loseIds(id); // If it is beyond the last one, its animal is lost.
    }
    if (kind === "gap") {
      this.#gaps.add({ id, after: this.#lines.lastId });
      this.#lines.skipTo(id);
    } else if (kind === "change" && this.#gaps.has(id)) {
      this.#lose(`left out ${place} by which animal ${id} became ${petStatuses[line.statusIndex]}: it is lost`);
    } else {
      this.#lines.add(contentOf(found), line.atSeconds);
      this.#changedIds.delete(id);
    }
  }

  /**
   * @param damages after the last line by number
   * @param copiedCount lines after it, in the file, that are copies: others may have been in their place
   */
  finish(damages: readonly Damage[], copiedCount: number): void {
    this.damaged(damages);
    const from = this.#number + 1;
    const lostCount = sumOf(this.#damages, ({ lineCount }) => lineCount);
    if (lostCount > 0) {
      this.#loseLines(lostCount, `lines from line ${from} on are`, Infinity);
    }
    if (copiedCount > 0) {
      const copies = `copies of ${pluralize(copiedCount, "line")}`;
      this.#lose(`lines from line ${from} on may be lost: ${copies} are in their place`);
      this.#lostCount += copiedCount;
    }
    const { lastId } = this.#lines;
    // Also for those that read as changes: what is damaged proves nothing.
    const id = Math.min(this.#lastId + this.#lostCount, Math.max(gapIdMax, lastId));
    if (id > lastId) {
      this.#lose(`perhaps lost, if there were such: ${rangeOf("animal", lastId, id)}; no other animal gets the id`);
      this.#lines.skipTo(id);
    }
    this.#findChanges(this.#lostAnimalCount);
    for (const changedId of this.#changedIds) {
      if (changedId > lastId) {
        this.#changedIdMax = lastId; // What can be read is not what was written.
      } else if (!this.#gaps.has(changedId)) {
        const whose = `its status, or another's if the id is damaged,`;
        this.#lose(`a lost line reads as a change of animal ${changedId}: ${whose} may be the one before`);
      }
    }
    if (this.#changedIdMax > 0) {
      const which = `any animal up to id ${this.#changedIdMax}`;
      this.#lose(`lost lines may be changes: ${which} may have the status before its last one`);
    }
  }

  #passTo(number: number): void {
    const count = number - this.#number - 1;
    if (count > 0) {
      this.#loseLines(count, `${rangeOf("line", this.#number, number - 1)} ${count === 1 ? "is" : "are"}`, number);
    }
    this.#damages = [];
    this.#number = number;
  }

  /** @param next the number of the next line */
  #loseLines(count: number, which: string, next: number): void {
    const damages = this.#damages;
    const places = damages.map(({ offset, byteCount }) => `${pluralize(byteCount, "byte")} from byte ${offset} on`);
    this.#lose(`${which} ${places.length === 0 ? "missing" : `damaged: ${places.join(" and ")}`}`);
    damages.flatMap(({ texts }) => texts).forEach((text) => this.#lose(`what can be read: ${text}`));
    this.#lostCount += count;
    this.#lostAnimalCount += sumOf(damages, ({ animalCount }) => animalCount);
    // Another may be a copy of a part of a line.
    const changes = damages.flatMap((damage) => damage.changes);
    const lost = changes.filter(({ number }) => number > this.#number && number < next);
    this.#lostChangeCount += new Set(lost.map(({ number }) => number)).size;
    lost.forEach(({ id }) => this.#changedIds.add(id));
  }

  /** The animals behind the last one, up to this, are lost: makes a gap of their ids. */
  #loseIds(id: number): void {
    const after = this.#lines.lastId;
    if (id > after) {
      const isGapLost = id - this.#lastId > this.#lostCount; // As many lines could not give so many ids.
      const which = isGapLost ? `no animal has ${rangeOf("id", after, id)}` : `lost: ${rangeOf("animal", after, id)}`;
      this.#lose(`${which}; no other animal gets the id`);
      this.#gaps.add({ id, after });
      this.#lines.skipTo(id);
    }
  }

  /** All lost lines but so many are changes. */
  #findChanges(otherCount: number): void {
    if (this.#lostCount - otherCount > this.#lostChangeCount) {
      this.#changedIdMax = Math.max(this.#changedIdMax, this.#lastId);
    }
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
  const json = kind === "change" ? "" : `${textOf(view, start, statusStart)}${petStatuses[statusIndex]}"}`;
  const hashEnd = hashStart + idempotencyHashCharacters;
  const idempotencyHash = hashStart === 0 ? undefined : textOf(view, hashStart, hashEnd);
  return { id, kind, statusIndex, json, idempotencyHash };
}

/** What can be read of a damaged place, and how many lines it may have had. */
interface Damage {
  readonly offset: number;
  readonly byteCount: number;
  /** At most; one at least. */
  readonly lineCount: number;
  /** How many of them begin as the line of an animal does. */
  readonly animalCount: number;
  /** Those that begin as a change does: the id of its animal, and its number. */
  readonly changes: readonly { readonly id: number; readonly number: number }[];
  /** Whatever looks like text, a line each. */
  readonly texts: readonly string[];
}

const readBytesMax = 65_536;
const textsMax = 20;
const textCharactersMax = 400;
/** Of an animal. */
const lineBytesMin = '{"id":1,"name":"x","categoryId":1,"status":"sold","group":1'.length + checksumBytes;

const animalStart = /^\{"id":\d+,"n/;
const changeStart = /^\{"id":(\d{1,15}),"s.{0,24}"line":(\d{1,15}),/;

/** Of the bytes `[from, to)`, one at least. */
async function readDamage(file: ReadableFile, from: number, to: number): Promise<Damage> {
  const text = (await readBytes(file, Math.min(to - from, readBytesMax), from)).toString();
  const pieces = text.split("\n").filter((piece) => piece !== "");
  const changes = pieces.map((piece) => changeStart.exec(piece)).filter((found) => found !== null);
  const byteCount = to - from;
  return {
    offset: from,
    byteCount,
    lineCount: Math.max(1, pieces.length, Math.floor((byteCount + 1) / lineBytesMin)),
    animalCount: pieces.filter((piece) => animalStart.test(piece)).length,
    changes: changes.map(([, id, number]) => ({ id: Number(id), number: Number(number) })),
    texts: pieces.map(printable).filter((piece) => /[ -~]{4}/.test(piece)).slice(0, textsMax),
  };
}

function printable(text: string): string {
  return text.slice(0, textCharactersMax).replaceAll(/[\p{C}\p{Zl}\p{Zp}\uFFFD]+/gu, "?");
}
