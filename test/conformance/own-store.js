import { IdempotencyConflictError, petToJson, StorageUnavailableError } from "animal-store";

/** A store in memory, as short as it can be, with one of the faults that testing.test.js names. */
export class OwnStore {
  #isOpen = true;

  constructor(kept, fault) {
    this.kept = kept;
    this.fault = fault;
    if (fault === "hashes forgotten at a start") {
      kept.results = new Map([...kept.results].slice(-40));
    }
  }

  async add(newPet, hash) {
    return this.#once(hash, petToJson({ ...this.#compared(newPet), id: 0 }), () => {
      const id = this.kept.animals.length + (this.fault === "ids from 0" ? 0 : 1);
      this.kept.animals.push({ ...newPet, id, memory: Buffer.alloc(2_000) });
      return { id, json: petToJson({ ...newPet, id }) };
    });
  }

  /** What a database may take for equal. */
  #compared({ name, categoryId, status }) {
    switch (this.fault) {
      case "names equal by trimming":
        return { name: name.trimEnd(), categoryId, status };
      case "names equal by normal form":
        return { name: name.normalize(), categoryId, status };
      case "categories equal as doubles":
        return { name, categoryId: BigInt(Number(categoryId)), status };
      default:
        return { name, categoryId, status };
    }
  }

  async changeStatus(id, { status, from }, hash) {
    const pet = this.kept.animals[id - 1];
    if (pet === undefined) {
      return { kind: "absent" };
    }
    if (this.fault === "changes lost by close") {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#isOpen) {
        return { kind: "changed", json: petToJson({ ...pet, status }) };
      }
    }
    if (this.fault === "changes dropped by close") {
      await new Promise((resolve) => setImmediate(() => this.#isOpen && resolve()));
    }
    return this.#once(hash, `${id} ${status}`, () => {
      if (this.fault !== "any from" && !from.includes(pet.status)) {
        return { kind: "mismatch", status: pet.status };
      }
      if (this.fault === "replays what changes nothing" && pet.status === status && hash) {
        return { kind: "changed", json: petToJson(pet), isReplay: true };
      }
      pet.status = status;
      pet.memory.write(petToJson(pet)); // Seen where `get` gives it out.
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
      this.#remember(hash, { request, result });
    }
    return result;
  }

  #remember(hash, entry) {
    const { results } = this.kept;
    results.set(hash, entry);
    if (this.fault === "100 hashes" && results.size > 100) {
      results.delete(results.keys().next().value);
    }
    if (this.fault === "hashes for 200 ms") {
      setTimeout(() => results.delete(hash), 200);
    }
  }

  get(id) {
    const pet = this.kept.animals[id - 1];
    if (pet === undefined || this.fault !== "text overwritten later") {
      return pet && petToJson(pet);
    }
    return pet.memory.subarray(0, pet.memory.write(petToJson(pet)));
  }

  async list({ after, limit, status }) {
    const left = this.kept.animals.filter((pet) => pet.id > after && (status === undefined || pet.status === status));
    const page = left.slice(0, limit);
    const nextAfter = left.length > limit && this.fault !== "no nextAfter" ? page.at(-1).id : undefined;
    if (this.fault === "rows read after the filter") {
      await undefined; // Changes come in between.
    }
    return { json: `[${page.map(petToJson).join(",")}]`, nextAfter };
  }

  isWritable() {
    return this.#isOpen;
  }

  async close() {
    this.#isOpen = false;
  }
}
