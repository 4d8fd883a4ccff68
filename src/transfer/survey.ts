/**
 * Finds out about a damaged pets.jsonl where its intact lines are, which bytes are damaged, and what can be read of
 * those. It reads the file once, and again what it reports: damaged places, or two histories.
 */

import { checksumBytes, textOf } from "../base/checksum.ts";
import { pluralize } from "../base/pluralize.ts";
import { type ReadableFile, readBytes } from "../disk/file-bytes.ts";
import { intactLines } from "./intact-lines.ts";
import { LinePlaces } from "./line-places.ts";

export interface Survey {
  readonly places: LinePlaces;
  /** In damaged places, what reads as the change of an animal and whose number is missing. */
  readonly changes: readonly Change[];
  /** Damage that may have been lines after the one with the highest number. */
  readonly behindLast: readonly Damage[];
}

export interface Change {
  readonly id: number;
  readonly number: number;
  readonly isRemoval: boolean;
}

/** If there are more, any animal counts as one that may have changed. */
const changesMax = 10_000;

/** @param say called with which bytes are damaged, and what can be read of them */
export async function surveyOf(file: ReadableFile, say: (loss: string) => void): Promise<Survey> {
  const places = new LinePlaces();
  const changes: Change[] = [];
  let behindLast: Damage[] = [];
  let [highest, before, end] = [0, 0, 0];
  const damagedUntil = async (offset: number): Promise<void> => {
    const damage = await readDamage(file, end, offset);
    if (damage !== undefined) {
      say(`${pluralize(offset - end, "byte")} from byte ${end} on ${offset - end === 1 ? "is" : "are"} damaged`);
      damage.texts.forEach((text) => say(`what can be read: ${text}`));
      changes.push(...damage.changes.slice(0, changesMax - changes.length));
      const followsHighest = before === highest;
      const isAtEnd = offset === file.size();
      behindLast.push(...(followsHighest || isAtEnd ? [damage] : []));
    }
  };
  for await (const found of intactLines(file)) {
    await damagedUntil(found.offset);
    const other = places.add(found);
    if (other !== undefined) {
      throw await twoHistories(file, other, found.offset);
    }
    before = found.line.number;
    if (before > highest) {
      highest = before;
      behindLast = [];
    }
    end = found.offset + found.end - found.start + 1;
  }
  await damagedUntil(file.size());
  return { places, changes: changes.filter(({ number }) => !places.has(number)), behindLast };
}

/** What can be read of a damaged place. */
export interface Damage {
  /** The most lines that it may have had, never less than 1. */
  readonly lineCount: number;
  /** How many of them begin as the line of an animal does. */
  readonly animalCount: number;
  readonly changes: readonly Change[];
  /** Whatever looks like text, a line each. */
  readonly texts: readonly string[];
}

const readBytesMax = 65_536;
const textsMax = 20;
const textCharactersMax = 400;
/** Of a change: the shortest line that says something of an animal. */
const lineBytesMin = '{"id":1,"status":"sold","line":2,"group":2'.length + checksumBytes;

const animalStart = /^\{"id":\d+,"n/;
const changeStart = /^\{"id":(\d{1,15}),"s.{0,24}"line":(\d{1,15}),/;

/** Undefined if nothing but white space is there: a line end of Windows, for instance, or the mark before its text. */
async function readDamage(file: ReadableFile, from: number, to: number): Promise<Damage | undefined> {
  const byteCount = to - from;
  const text = byteCount > 0 ? (await readBytes(file, Math.min(byteCount, readBytesMax), from)).toString() : "";
  if (text.trim() === "" && byteCount <= readBytesMax) {
    return undefined;
  }
  const pieces = text.split("\n").filter((piece) => piece !== "");
  const changes = pieces.map((piece) => changeStart.exec(piece)).filter((found) => found !== null);
  return {
    lineCount: Math.max(1, pieces.length, Math.floor((byteCount + 1) / lineBytesMin)),
    animalCount: pieces.filter((piece) => animalStart.test(piece)).length,
    changes: changes.map(([start, id, number]) => {
      return { id: Number(id), number: Number(number), isRemoval: start.includes('"removed"') };
    }),
    texts: pieces.map(printable).filter((piece) => /[ -~]{4}/.test(piece)).slice(0, textsMax),
  };
}

function printable(text: string): string {
  return text.slice(0, textCharactersMax).replaceAll(/[\p{C}\p{Zl}\p{Zp}\uFFFD]+/gu, "?");
}

/** Two different lines with one number: taking one of them would mix two histories into a third. */
async function twoHistories(file: ReadableFile, one: number, other: number): Promise<Error> {
  const [first, second] = [await historyFrom(file, one), await historyFrom(file, other)];
  const which = `only you can tell which is right. One is ${first}; the other is ${second}`;
  return new Error(`two histories are in it, and ${which}. Cut one of them out, and run this again`);
}

/** In words: the lines from `offset` on, as long as their numbers ascend. */
async function historyFrom(file: ReadableFile, offset: number): Promise<string> {
  let [last, lastOffset, number] = ["", offset, 0];
  const texts: string[] = [];
  for await (const { view, start, end, offset: at, line } of intactLines(file, offset)) {
    if (line.number <= number) {
      break;
    }
    [last, lastOffset, number] = [textOf(view, start, end), at, line.number];
    texts.push(...(texts.length === 0 ? [last] : []));
  }
  const place = async (to: number): Promise<string> => `line ${await lineOf(file, to)} of the file (byte ${to})`;
  return `from ${await place(offset)}, ${texts[0]}, to ${await place(lastOffset)}, ${last}`;
}

/** The line of the file, from 1, that the byte is in. */
async function lineOf(file: ReadableFile, offset: number): Promise<number> {
  let count = 1;
  for (let position = 0; position < offset; position += readBytesMax) {
    const bytes = await readBytes(file, Math.min(readBytesMax, offset - position), position);
    count += bytes.toString("latin1").split("\n").length - 1;
  }
  return count;
}
