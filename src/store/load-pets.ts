/**
 * Reads the animals of pets.jsonl, their corrections, changes and removals, and says what is wrong with it. Here are
 * the rules between lines; pet-line.ts has those within one.
 *
 * Lines are numbered 1, 2, 3, …, and so are animals, in the order of their creation, but for ids in gaps. A change, or
 * a correction, is of an animal that an earlier line created and none removed. No version is less than an earlier one
 * of the animal. A line's group is its own number, which begins a group, or the group of the line before it. If a line
 * with a right checksum breaks these rules, a line is missing, doubled or moved, which no crash does.
 */

import type { LineFault } from "../base/checksum.ts";
import type { ReadableFile } from "../disk/file-bytes.ts";
import { groupBytesMax } from "../log/group-writer.ts";
import { type LineReader, type LogEnd, readLog, type ReadLogOptions } from "../log/reader.ts";
import { petVersionMax } from "../pets/pet-store.ts";
import { type Catalogue, gapIdMax } from "./catalogue.ts";
import { HierarchicalBitSet } from "./hierarchical-bit-set.ts";
import type { IdempotencyHashes } from "./idempotency-hashes.ts";
import { createPetLine, type PetLine, petLineBytesMax, readPetLine, removedIndex } from "./pet-line.ts";

export const petFileName = "pets.jsonl";

/** Takes the lines in their order: animals and corrections (`[start, end)` as for `Catalogue`), changes and gaps. */
type PetSink = Pick<Catalogue, "append" | "correct" | "changeStatus" | "skipTo" | "versionOf">;

export interface LoadOptions extends Omit<ReadLogOptions, "tornBytesMax"> {
  /** Gets every idempotency hash, however old, with the time of its line. */
  readonly hashes?: Pick<IdempotencyHashes, "rememberSince" | "secondsOf"> | undefined;
}

/** Gives all animals and changes to `sink`, up to the end of the log or the first fault. */
export function loadPets(file: ReadableFile, sink: PetSink, { hashes, ...options }: LoadOptions = {}): Promise<LogEnd> {
  return readLog(file, new PetLineReader(sink, hashes), { ...options, tornBytesMax: groupBytesMax });
}

class PetLineReader implements LineReader {
  readonly lineBytesMax = petLineBytesMax;
  readonly #sink: PetSink;
  readonly #hashes: LoadOptions["hashes"];
  readonly #line = createPetLine();
  /** One object is used for all requests. */
  readonly #request = { id: 0, isChange: false, statusIndex: 0, version: 0 };
  readonly #gaps = new Gaps();
  readonly #removed = new HierarchicalBitSet();
  #lastId = 0;
  #lastNumber = 0;
  #group = 0;

  constructor(sink: PetSink, hashes: LoadOptions["hashes"]) {
    this.#sink = sink;
    this.#hashes = hashes;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const line = this.#line;
    const fault = readPetLine(bytes, start, end, line);
    if (fault !== undefined) {
      return fault;
    }
    const isChange = line.kind === "change" || line.kind === "correction";
    const knownVersion = isChange ? this.#sink.versionOf(line.id) : 0;
    line.version ||= knownVersion + 1;
    const reason =
      (isChange ? this.#breachOfChange(line, knownVersion) : this.#breachOfOther(line)) ?? this.#breachOfPlace(line);
    if (reason !== undefined) {
      return { kind: "wrong", reason };
    }
    this.#lastNumber = line.number;
    this.#group = line.group;
    switch (line.kind) {
      case "create":
        this.#lastId = line.id;
        this.#sink.append(bytes, start, line.statusStart, line.statusIndex, line.version);
        break;
      case "correction":
        this.#correct({ bytes, start, end: line.statusStart });
        break;
      case "change":
        this.#sink.changeStatus(line.id, line.statusIndex, line.version);
        if (line.statusIndex === removedIndex) {
          this.#removed.add(line.id);
        }
        break;
      case "gap":
        this.#gaps.add(line);
        this.#lastId = line.id;
        this.#sink.skipTo(line.id);
    }
    if (line.hashStart > 0) {
      this.#request.id = line.id;
      this.#request.isChange = isChange;
      this.#request.statusIndex = line.statusIndex;
      this.#request.version = line.version;
      this.#hashes?.rememberSince(bytes, line.hashStart, this.#request, line.atSeconds);
    }
    return undefined;
  }

  #correct(text: Parameters<PetSink["correct"]>[1]): void {
    const { id, statusIndex, version, atSeconds } = this.#line;
    this.#sink.correct(id, text, statusIndex, version, this.#hashes?.secondsOf(atSeconds) ?? atSeconds);
  }

  /** The rule that a change or a correction breaks; undefined if it breaks none. */
  #breachOfChange({ id, version }: PetLine, knownVersion: number): string | undefined {
    if (id > this.#lastId || this.#gaps.has(id)) {
      return `animal ${id} changes before it is there`;
    }
    if (this.#removed.has(id)) {
      return `animal ${id} changes after it was removed`;
    }
    return version < knownVersion ? `animal ${id} has version ${version} after version ${knownVersion}` : undefined;
  }

  #breachOfOther({ id, kind, after }: PetLine): string | undefined {
    if (kind === "create") {
      return id === this.#lastId + 1 ? undefined : `the animal has id ${id} instead of ${this.#lastId + 1}`;
    }
    if (after !== this.#lastId) {
      return `the gap is after id ${after} instead of ${this.#lastId}`;
    }
    return id > gapIdMax ? `the gap ends at id ${id}: it may be ${gapIdMax} at most` : undefined;
  }

  #breachOfPlace({ id, version, number, group }: PetLine): string | undefined {
    if (number !== this.#lastNumber + 1) {
      return `the line has number ${number} instead of ${this.#lastNumber + 1}`;
    }
    if (version > petVersionMax) {
      return `animal ${id} has version ${version}: it may be ${petVersionMax} at most`;
    }
    return group === number || group === this.#group
      ? undefined
      : `the line has group ${group}, not its own number or the last group`;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    const line = this.#line;
    // Unknown members count as proof: what a newer release wrote must not be set aside as a torn tail.
    const isKnown = readPetLine(bytes, start, end, line) === undefined;
    // In the group that was being written, only the first line proves anything. A line of a later group proves that it
    // was synced. A line of an earlier group proves nothing, since a torn tail may hold old pages.
    const nextNumber = this.#lastNumber + 1;
    return !isKnown || line.group > nextNumber || (line.group === nextNumber && line.number === nextNumber);
  }
}

/** The ids that have no animal. */
export class Gaps {
  /** In ascending order, for a binary search: a file may have as many gaps as animals. */
  readonly #gaps: Pick<PetLine, "id" | "after">[] = [];

  /** Adds a gap beyond all others. */
  add({ id, after }: Pick<PetLine, "id" | "after">): void {
    this.#gaps.push({ id, after });
  }

  has(id: number): boolean {
    let index = 0; // The index of the first gap that does not end before the id.
    for (let end = this.#gaps.length; index < end; ) {
      const middle = (index + end) >>> 1;
      if (this.#gaps[middle]!.id < id) { // The index is within the array.
        index = middle + 1;
      } else {
        end = middle;
      }
    }
    return id > (this.#gaps[index]?.after ?? Infinity);
  }
}
