/**
 * The lines of one group of pets.jsonl. Requests are decided here, one after the other, against what readers see and
 * what the group has decided so far. Readers see the group only once it is on disk.
 */

import type { Chunk } from "../log/chunks.ts";
import type { ChangeOutcome, Refusal, RemovalOutcome, StoredPet } from "../pets/pet-store.ts";
import { type NewPet, type PetStatus, petStatuses, petToJson } from "../pets/pet.ts";
import type { Catalogue } from "./catalogue.ts";
import type { IdempotencyHashes } from "./idempotency-hashes.ts";
import {
  createPetLine, encodePetLine, type LineContent, type PetLine, petLineBytesMax, removedIndex,
} from "./pet-line.ts";

/** An item of the next group. */
export type GroupItem =
  | { readonly kind: "add"; readonly newPet: NewPet; readonly idempotencyHash: string | undefined }
  | {
      readonly kind: "change";
      /** The id of an animal that readers see. */
      readonly id: number;
      /** The index of the status that it gets, or `removedIndex`. */
      readonly statusIndex: number;
      readonly from: readonly PetStatus[];
      readonly idempotencyHash: string | undefined;
    };

export type ItemResult = StoredPet | ChangeOutcome | RemovalOutcome;

type GroupLine = Readonly<Pick<PetLine, "id" | "statusIndex" | "statusStart" | "hashStart">> & {
  readonly isChange: boolean;
  readonly start: number;
};

export class PetGroup {
  readonly #catalogue: Catalogue;
  readonly #chunk: Chunk;
  readonly #line = createPetLine();
  readonly #lines: GroupLine[] = [];
  /** The statuses that the group changes, by id. */
  readonly #statuses = new Map<number, number>();
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
      if (line.isChange) {
        this.#catalogue.changeStatus(line.id, line.statusIndex);
      } else {
        this.#catalogue.append(view, line.start, line.statusStart, line.statusIndex);
      }
      if (line.hashStart > 0) {
        hashes.remember(view, line.hashStart, line);
      }
    }
  }

  #add({ newPet, idempotencyHash }: Extract<GroupItem, { kind: "add" }>): StoredPet {
    const id = this.#nextId++;
    const json = petToJson({ id, ...newPet });
    this.#write({ id, kind: "create", statusIndex: petStatuses.indexOf(newPet.status), json, idempotencyHash });
    return { id, json };
  }

  #change({ id, statusIndex, from, idempotencyHash }: Extract<GroupItem, { kind: "change" }>): ItemResult {
    const present = this.#statuses.get(id) ?? this.#catalogue.statusOf(id);
    const refusal = refusalOf(present, from);
    if (refusal !== undefined) {
      return refusal;
    }
    // A change that changes nothing is written only for its hash.
    if (statusIndex !== present || idempotencyHash !== undefined) {
      this.#write({ id, kind: "change", statusIndex, json: "", idempotencyHash });
      this.#statuses.set(id, statusIndex);
    }
    return changedOutcome(this.#catalogue, id, statusIndex);
  }

  #write(content: LineContent): void {
    const line = this.#line;
    const start = this.byteCount;
    line.number = line.group + this.#lines.length;
    this.byteCount = encodePetLine(this.#chunk, start, content, line);
    const { id, kind, statusIndex, statusStart, hashStart } = line;
    this.#lines.push({ id, isChange: kind === "change", statusIndex, statusStart, hashStart, start });
  }
}

/**
 * Why an animal cannot be changed; undefined if it can.
 * @param present the index of its status, or `removedIndex`; undefined if there is no animal
 */
export function refusalOf(present: number | undefined, from: readonly PetStatus[]): Refusal | undefined {
  const status = petStatuses[present ?? removedIndex];
  if (status === undefined) {
    return { kind: "absent" };
  }
  return from.includes(status) ? undefined : { kind: "mismatch", status };
}

/** The outcome of a change of the animal to the status, or of its removal. */
export function changedOutcome(
  catalogue: Catalogue,
  id: number,
  statusIndex: number,
): ChangeOutcome | RemovalOutcome {
  const json = statusIndex === removedIndex ? undefined : catalogue.get(id, statusIndex);
  return json === undefined ? { kind: "removed" } : { kind: "changed", json };
}
