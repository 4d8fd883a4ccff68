/**
 * A store whose adds are resolved, as if the animals were on disk, when the test says so.
 */

import type { ChangeOutcome, PetPage, PetStore, RemovalOutcome, StoredPet } from "../../src/pets/pet-store.ts";
import { type NewPet, type PetChange, petToJson } from "../../src/pets/pet.ts";
import type { Preconditions } from "../../src/pets/precondition.ts";

export class GatedStore implements PetStore {
  /** What `list` returns. */
  listJson = "[]";
  #count = 0;
  readonly #waiting: (() => void)[] = [];
  #onAdd: (() => void) | undefined;

  add(newPet: NewPet): Promise<StoredPet> {
    const id = ++this.#count;
    this.#onAdd?.();
    return new Promise((resolve) => this.#waiting.push(() => resolve({ id, json: petToJson({ id, ...newPet }) })));
  }

  /** How many animals have been handed in. */
  get addCount(): number {
    return this.#count;
  }

  /** Resolves once so many animals have been handed in. */
  added(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onAdd = () => {
        if (this.#count >= count) {
          resolve();
        }
      };
      this.#onAdd();
    });
  }

  /** Everything handed in so far is on disk now. */
  open(): void {
    this.#waiting.splice(0).forEach((resolve) => resolve());
  }

  change(_id: number, _change: PetChange, _allowed: Preconditions): Promise<ChangeOutcome> {
    return Promise.resolve({ kind: "absent" });
  }

  remove(): Promise<RemovalOutcome> {
    return Promise.resolve({ kind: "absent" });
  }

  get(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  list(): Promise<PetPage> {
    return Promise.resolve({ json: this.listJson, nextAfter: undefined });
  }

  isWritable(): boolean {
    return true;
  }

  close(): Promise<void> {
    this.open();
    return Promise.resolve();
  }
}
