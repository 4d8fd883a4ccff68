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
import type { IdempotencyHashes } from "./idempotency-hashes.ts";
import { createPetLine, type PetLine, petLineBytesMax, readPetLine } from "./pet-line.ts";

export const petFileName = "pets.jsonl";

export interface LoadOptions extends Omit<ReadLogOptions, "tornBytesMax"> {
  /** Gets every idempotency hash, however old, with the time of its line. */
  readonly hashes?: Pick<IdempotencyHashes, "rememberSince" | "secondsOf"> | undefined;
}

/** Gives all animals and changes to an empty catalogue, up to the end of the log or the first fault. */
export function loadPets(
  file: ReadableFile,
  catalogue: Catalogue,
  { hashes, ...options }: LoadOptions = {},
): Promise<LogEnd> {
  return readLog(file, new PetLineReader(catalogue, hashes), { ...options, tornBytesMax: groupBytesMax });
}

class PetLineReader implements LineReader {
  readonly lineBytesMax = petLineBytesMax;
  readonly #catalogue: Catalogue;
  readonly #hashes: LoadOptions["hashes"];
  readonly #line = createPetLine();
  /** One object is used for all requests. */
  readonly #request = { id: 0, isChange: false, statusIndex: 0, version: 0 };
  #lastNumber = 0;
  #group = 0;

  constructor(catalogue: Catalogue, hashes: LoadOptions["hashes"]) {
    this.#catalogue = catalogue;
    this.#hashes = hashes;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const line = this.#line;
    const fault = readPetLine(bytes, start, end, line);
    if (fault !== undefined) {
      return fault;
    }
    const isChange = line.kind === "change" || line.kind === "correction";
    const knownVersion = isChange ? this.#catalogue.versionOf(line.id) : 0;
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
        this.#catalogue.append(bytes, start, line.statusStart, line.statusIndex, line.version);
        break;
      case "correction": {
        const atSeconds = this.#hashes?.secondsOf(line.atSeconds) ?? line.atSeconds;
        const text = { bytes, start, end: line.statusStart };
        this.#catalogue.correct(line.id, text, line.statusIndex, line.version, atSeconds);
        break;
      }
      case "change":
        this.#catalogue.changeStatus(line.id, line.statusIndex, line.version);
        break;
      case "gap":
        this.#catalogue.skipTo(line.id);
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

  /** The rule that a change or a correction breaks; undefined if it breaks none. */
  #breachOfChange({ id, version }: PetLine, knownVersion: number): string | undefined {
    if (this.#catalogue.statusOf(id) === undefined) {
      return `animal ${id} changes, but there is none`;
    }
    return version < knownVersion ? `animal ${id} has version ${version} after version ${knownVersion}` : undefined;
  }

  #breachOfOther({ id, kind, after }: PetLine): string | undefined {
    const { lastId } = this.#catalogue;
    if (kind === "create") {
      return id === lastId + 1 ? undefined : `the animal has id ${id} instead of ${lastId + 1}`;
    }
    if (after !== lastId) {
      return `the gap is after id ${after} instead of ${lastId}`;
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
