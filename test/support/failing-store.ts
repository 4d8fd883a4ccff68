/**
 * A store whose methods all fail, with an error that the test chooses.
 */

import type { PetStore } from "../../src/pets/pet-store.ts";

export class FailingStore implements PetStore {
  failure = new Error("This is what a broken store says");

  add(): Promise<never> {
    return Promise.reject(this.failure);
  }

  change(): Promise<never> {
    return Promise.reject(this.failure);
  }

  remove(): Promise<never> {
    return Promise.reject(this.failure);
  }

  get(): Promise<never> {
    return Promise.reject(this.failure);
  }

  list(): Promise<never> {
    return Promise.reject(this.failure);
  }

  isWritable(): boolean {
    return false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
