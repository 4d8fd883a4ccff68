/**
 * A store as an embedder would write one: it imports only what the library exports. Its animals are in an engine that
 * stands for a database server: it is shared by all stores that were opened on it, and keeps the animals when they are
 * closed. Every reply comes a turn of the event loop later, in the order of the calls.
 */

import { setImmediate } from "node:timers/promises";

import {
  type ChangeOutcome,
  type JsonText,
  type NewStorePet,
  IdempotencyConflictError,
  type StorePet,
  type StorePetPage,
  type PetQuery,
  type PetStore,
  petToJson,
  type Removal,
  type RemovalOutcome,
  type StatusChange,
  StorageUnavailableError,
  type StoredPet,
} from "../index.ts";

type Outcome = ChangeOutcome | RemovalOutcome;

export class ExampleEngine {
  /** While this is true, every call of a store fails. */
  isDown = false;
  /** Undefined where an animal was removed. */
  readonly #pets: (StorePet | undefined)[] = [];
  /** The request and the result of each hash. A real engine forgets a hash after 24 hours. */
  readonly #byHash = new Map<string, { readonly request: string; readonly result: StoredPet | Outcome }>();

  add(newPet: NewStorePet, hash?: string): StoredPet {
    return this.#once(hash, `add ${petToJson({ ...newPet, id: 0 })}`, () => {
      const id = this.#pets.length + 1;
      return { id, json: this.#put({ ...newPet, id }) };
    });
  }

  changeStatus(id: number, { status, from }: StatusChange, hash?: string): ChangeOutcome {
    return this.#change<ChangeOutcome>(id, from, { hash, request: `${id} ${status}` }, (pet) => {
      return { kind: "changed", json: this.#put({ ...pet, status }) };
    });
  }

  remove(id: number, { from }: Removal, hash?: string): RemovalOutcome {
    return this.#change<RemovalOutcome>(id, from, { hash, request: `${id} removed` }, () => {
      this.#pets[id - 1] = undefined;
      return { kind: "removed" };
    });
  }

  get(id: number): string | undefined {
    const pet = this.#pets[id - 1];
    return pet && petToJson(pet);
  }

  list({ after, limit, status }: PetQuery): StorePetPage {
    const present = this.#pets.slice(after).filter((pet) => pet !== undefined);
    const matching = present.filter((pet) => status === undefined || pet.status === status);
    const page = matching.slice(0, limit);
    const nextAfter = matching.length > limit ? page.at(-1)?.id : undefined;
    return { json: `[${page.map(petToJson).join(",")}]`, nextAfter };
  }

  #put(pet: StorePet): string {
    this.#pets[pet.id - 1] = pet;
    return petToJson(pet);
  }

  #change<Result extends Outcome>(
    id: number,
    from: StatusChange["from"],
    { hash, request }: { readonly hash: string | undefined; readonly request: string },
    change: (pet: StorePet) => Result,
  ): Result | Extract<ChangeOutcome, RemovalOutcome> {
    if (id > this.#pets.length) {
      return { kind: "absent" };
    }
    return this.#once(hash, request, () => {
      const pet = this.#pets[id - 1];
      if (pet === undefined) {
        return { kind: "absent" };
      }
      return from.includes(pet.status) ? change(pet) : { kind: "mismatch", status: pet.status };
    });
  }

  /** Only what was stored is remembered. @throws {IdempotencyConflictError} */
  #once<Result extends StoredPet | Outcome>(hash: string | undefined, request: string, run: () => Result): Result {
    const earlier = hash === undefined ? undefined : this.#byHash.get(hash);
    if (earlier !== undefined && earlier.request !== request) {
      throw new IdempotencyConflictError("the hash belongs to another request");
    }
    if (earlier !== undefined) {
      return { ...(earlier.result as Result), isReplay: true }; // Equal requests have results of one type.
    }
    const result = run();
    const isStored = !("kind" in result) || result.kind === "changed" || result.kind === "removed";
    if (hash !== undefined && isStored) {
      this.#byHash.set(hash, { request, result });
    }
    return result;
  }
}

export class ExampleStore implements PetStore {
  readonly #engine: ExampleEngine;
  #isDown = false;
  #isClosed = false;

  constructor(engine: ExampleEngine) {
    this.#engine = engine;
  }

  add(newPet: NewStorePet, idempotencyHash?: string): Promise<StoredPet> {
    return this.#ask((engine) => engine.add(newPet, idempotencyHash));
  }

  changeStatus(id: number, change: StatusChange, idempotencyHash?: string): Promise<ChangeOutcome> {
    return this.#ask((engine) => engine.changeStatus(id, change, idempotencyHash));
  }

  remove(id: number, removal: Removal, idempotencyHash?: string): Promise<RemovalOutcome> {
    return this.#ask((engine) => engine.remove(id, removal, idempotencyHash));
  }

  get(id: number): Promise<JsonText | undefined> {
    return this.#ask((engine) => engine.get(id));
  }

  list(query: PetQuery): Promise<StorePetPage> {
    return this.#ask((engine) => engine.list(query));
  }

  /** By the engine's last reply: this method cannot wait for one. */
  isWritable(): boolean {
    return !this.#isDown && !this.#isClosed;
  }

  /** Replies come in order: after this turn, none is missing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await setImmediate();
  }

  async #ask<Reply>(ask: (engine: ExampleEngine) => Reply): Promise<Reply> {
    if (this.#isClosed) {
      throw new StorageUnavailableError("the store is closed");
    }
    await setImmediate();
    this.#isDown = this.#engine.isDown;
    if (this.#isDown) {
      throw new StorageUnavailableError("the engine is down");
    }
    return ask(this.#engine);
  }
}
