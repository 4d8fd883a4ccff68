/**
 * The lines of one group of pets.jsonl. Requests are decided here, one after the other, against what readers see and
 * what the group has decided so far. Readers see the group only once it is on disk.
 */

import type { Chunk } from "../log/chunks.ts";
import { members } from "../pets/members.ts";
import {
  type ChangeOutcome, petVersionMax, type Refusal, type RemovalOutcome, type StoredPet,
} from "../pets/pet-store.ts";
import { correctedText, type NewPet, type PetChange, petStatuses, petToJson } from "../pets/pet.ts";
import { outcomeFor, type Preconditions } from "../pets/precondition.ts";
import type { Catalogue } from "./catalogue.ts";
import type { IdempotencyHashes } from "./idempotency-hashes.ts";
import type { StoredRequest } from "./idempotency-table.ts";
import {
  createPetLine, encodePetLine, fileStatuses, type LineContent, type PetLine, petLineBytesMax, removedIndex,
} from "./pet-line.ts";

/** A change of an animal that readers see. */
export interface WantedChange {
  readonly id: number;
  readonly change: PetChange | "removal";
  readonly preconditions: Preconditions;
  readonly idempotencyHash: string | undefined;
}

/** An item of the next group. */
export type GroupItem =
  | { readonly kind: "add"; readonly newPet: NewPet; readonly idempotencyHash: string | undefined }
  | ({ readonly kind: "change" } & WantedChange);

/** "exhausted": the animal has had its last version. */
export type ItemResult = StoredPet | ChangeOutcome | RemovalOutcome | { readonly kind: "exhausted" };

type GroupLine = Readonly<Pick<PetLine, "kind" | "statusStart" | "hashStart">> & StoredRequest & {
  readonly start: number;
};

/** What becomes of an animal in a group. */
interface PetState {
  /** `removedIndex` if there is none. */
  readonly statusIndex: number;
  readonly version: number;
  /** Its text up to the status, if the group corrects it. */
  readonly text?: string | undefined;
}

export class PetGroup {
  readonly #catalogue: Catalogue;
  readonly #chunk: Chunk;
  readonly #line = createPetLine();
  readonly #lines: GroupLine[] = [];
  /** The animals that the group changes, by id. */
  readonly #states = new Map<number, PetState>();
  #nextId: number;
  /** The length of the lines. Changed here only. */
  byteCount = 0;

  /** @param firstNumber the place in the file of the group's first line, from 1 */
  constructor(catalogue: Catalogue, chunk: Chunk, firstNumber: number, atSeconds: number) {
    this.#catalogue = catalogue;
    this.#chunk = chunk;
    this.#line.group = firstNumber;
    this.#line.atSeconds = atSeconds;
    this.#nextId = catalogue.lastId + 1;
  }

  get lineCount(): number {
    return this.#lines.length;
  }

  /** Whether any line fits. */
  get hasRoom(): boolean {
    return this.byteCount + petLineBytesMax <= this.#chunk.bytes.length;
  }

  take(item: GroupItem): ItemResult {
    return item.kind === "add" ? this.#add(item) : this.#change(item);
  }

  /** Shows the group to readers. */
  publish(hashes: IdempotencyHashes): void {
    const { view } = this.#chunk;
    for (const line of this.#lines) {
      const { id, kind, start, statusStart, statusIndex, version } = line;
      if (kind === "create") {
        this.#catalogue.append(view, start, statusStart, statusIndex, version);
      } else if (kind === "correction") {
        const text = { bytes: view, start, end: statusStart };
        this.#catalogue.correct(id, text, statusIndex, version, hashes.nowSeconds);
      } else {
        this.#catalogue.changeStatus(id, statusIndex, version);
      }
      if (line.hashStart > 0) {
        hashes.remember(view, line.hashStart, line);
      }
    }
  }

  #add({ newPet, idempotencyHash }: Extract<GroupItem, { kind: "add" }>): StoredPet {
    const id = this.#nextId++;
    const json = petToJson({ id, ...newPet });
    const statusIndex = petStatuses.indexOf(newPet.status);
    this.#write({ id, kind: "create", statusIndex, version: 0, json, idempotencyHash }, 1);
    return { id, json };
  }

  #change({ id, change, preconditions, idempotencyHash }: WantedChange): ItemResult {
    const present = this.#states.get(id) ?? stateOf(this.#catalogue, id);
    const refusal = refusalOf(present, preconditions);
    if (refusal !== undefined) {
      return refusal;
    }
    const statusIndex = change === "removal" ? removedIndex : indexOfStatus(change, present.statusIndex);
    const presentText = (): string => present.text ?? this.#catalogue.textOf(id, present.version);
    const corrected = change !== "removal" && isCorrection(change) ? correctedText(presentText(), change) : undefined;
    const kind = corrected === undefined || corrected === presentText() ? "change" : "correction";
    // A change that changes nothing is written only for its hash.
    if (kind === "change" && statusIndex === present.statusIndex && idempotencyHash === undefined) {
      return changedOutcome(this.#catalogue, id, present);
    }
    if (present.version === petVersionMax) {
      return { kind: "exhausted" };
    }
    const version = present.version + 1;
    const state = { statusIndex, version, text: kind === "correction" ? corrected : present.text };
    const json = kind === "correction" ? `${corrected}${fileStatuses[statusIndex]}"}` : "";
    const said = kind === "correction" ? version : 0;
    this.#write({ id, kind, statusIndex, version: said, json, idempotencyHash }, version);
    this.#states.set(id, state);
    return changedOutcome(this.#catalogue, id, state);
  }

  #write(content: LineContent, version: number): void {
    const line = this.#line;
    const start = this.byteCount;
    line.number = line.group + this.#lines.length;
    this.byteCount = encodePetLine(this.#chunk, start, content, line);
    const { id, kind, statusIndex, statusStart, hashStart } = line;
    this.#lines.push({ id, kind, isChange: kind !== "create", statusIndex, version, statusStart, hashStart, start });
  }
}

function indexOfStatus({ status }: PetChange, present: number): number {
  return status === undefined ? present : petStatuses.indexOf(status);
}

/** Whether the change names a member besides the status. */
export function isCorrection(change: PetChange): boolean {
  return members.some(({ name }) => change[name] !== undefined);
}

/** @param id of an animal, or of one that was removed */
export function stateOf(catalogue: Catalogue, id: number): PetState {
  return { statusIndex: catalogue.statusOf(id) ?? removedIndex, version: catalogue.versionOf(id) };
}

/** Why an animal cannot be changed; undefined if it can. */
export function refusalOf({ statusIndex, version }: PetState, preconditions: Preconditions): Refusal | undefined {
  const status = petStatuses[statusIndex];
  if (status === undefined) {
    return { kind: "absent" };
  }
  const isAllowed = outcomeFor(preconditions, status, version) === "proceed";
  return isAllowed ? undefined : { kind: "mismatch", status, version };
}

/** The outcome of a change of the animal to the state, or of its removal. */
export function changedOutcome(
  catalogue: Catalogue,
  id: number,
  { statusIndex, version, text }: PetState,
): ChangeOutcome | RemovalOutcome {
  const status = petStatuses[statusIndex];
  return status === undefined
    ? { kind: "removed" }
    : { kind: "changed", json: `${text ?? catalogue.textOf(id, version)}${status}"}`, version };
}
