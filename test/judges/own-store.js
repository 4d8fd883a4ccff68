import { IdempotencyConflictError, petToJson, StorageUnavailableError } from "animal-store";

/** A store in memory, as short as it can be, with one of the faults that testing.test.js names. */
export class OwnStore {
  #isOpen = true;

  constructor(kept, fault) {
    this.kept = kept;
    this.fault = fault;
  }

  async add(newPet, hash) {
    return this.#once(hash, petToJson({ ...newPet, id: 0 }), () => {
      const id = this.kept.animals.length + (this.fault === "ids from 0" ? 0 : 1);
      this.kept.animals.push({ ...newPet, id });
      return { id, json: petToJson({ ...newPet, id }) };
    });
  }

  async changeStatus(id, { status, from }, hash) {
    const pet = this.kept.animals[id - 1];
    if (pet === undefined) {
      return { kind: "absent" };
    }
    return this.#once(hash, `${id} ${status}`, () => {
      if (this.fault !== "any from" && !from.includes(pet.status)) {
        return { kind: "mismatch", status: pet.status };
      }
      pet.status = status;
      return { kind: "changed", json: petToJson(pet) };
    });
  }

  #once(hash, request, run) {
    if (!this.#isOpen && this.fault !== "late close") {
      throw new StorageUnavailableError("the store is closed");
    }
    const earlier = hash && this.kept.results.get(hash);
    if (earlier !== undefined && earlier.request !== request) {
      throw new IdempotencyConflictError("the hash belongs to another request");
    }
    if (earlier !== undefined && this.fault !== "no replay") {
      return { ...earlier.result, isReplay: true };
    }
    const result = run();
    if (hash && result.json !== undefined) {
      this.kept.results.set(hash, { request, result });
    }
    return result;
  }

  get(id) {
    const pet = this.kept.animals[id - 1];
    return pet && petToJson(pet);
  }

  list({ after, limit, status }) {
    const left = this.kept.animals.filter((pet) => pet.id > after && (status === undefined || pet.status === status));
    const page = left.slice(0, limit);
    const nextAfter = left.length > limit && this.fault !== "no nextAfter" ? page.at(-1).id : undefined;
    return { json: `[${page.map(petToJson).join(",")}]`, nextAfter };
  }

  isWritable() {
    return this.#isOpen;
  }

  async close() {
    this.#isOpen = false;
  }
}
