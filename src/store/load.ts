/**
 * Reads the lines of pets.jsonl into the catalogue: the rules between lines, where pet-line.ts has those within one.
 *
 * Ids are 1, 2, 3, …; a line's group is its own id, which begins a group, or that of the line before it. A sound line
 * that breaks this was not written here in this place (one is missing, doubled or moved), and that is no crash's work.
 */

import type { LineFault, LineReader } from "../log/reader.ts";
import type { Catalogue } from "./catalogue.ts";
import { createPetLine, isGroupStart, readPetLine } from "./pet-line.ts";

export class PetLog implements LineReader {
  readonly #catalogue: Catalogue;
  readonly #line = createPetLine();
  #group = 0;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const line = this.#line;
    const fault = readPetLine(bytes, start, end, line);
    if (fault !== undefined) {
      return fault;
    }
    const expectedId = this.#catalogue.count + 1;
    if (line.id !== expectedId) {
      return { kind: "wrong", reason: `the animal has id ${line.id} where ${expectedId} has to follow` };
    }
    if (line.group !== line.id && line.group !== this.#group) {
      return { kind: "wrong", reason: `the animal has group ${line.group}, which is neither its own nor the last one` };
    }
    this.#group = line.group;
    this.#catalogue.append(bytes, start, line.textEnd, line.statusIndex);
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    // A page of an earlier line, which a crash may leave in the torn end, says nothing of what is before it.
    return isGroupStart(bytes, start, end, this.#line) && this.#line.id > this.#catalogue.count;
  }
}
