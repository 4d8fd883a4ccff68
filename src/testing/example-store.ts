/**
 * A store as an embedder would write one: it imports only what the library exports. Its animals are in an engine that
 * stands for a database server: it is reached only by messages, shared by all stores that are connected to it, and
 * keeps the animals when they are closed. Every reply comes at least one turn of the event loop later.
 */

import { MessageChannel, type MessagePort } from "node:worker_threads";

import {
  type ChangeOutcome,
  type JsonText,
  type NewStorePet,
  IdempotencyConflictError,
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

type Question =
  | { readonly kind: "add"; readonly newPet: NewStorePet; readonly idempotencyHash: string | undefined }
  | {
      readonly kind: "change";
      readonly id: number;
      readonly change: StatusChange;
      readonly idempotencyHash: string | undefined;
    }
  | {
      readonly kind: "remove";
      readonly id: number;
      readonly removal: Removal;
      readonly idempotencyHash: string | undefined;
    }
  | { readonly kind: "get"; readonly id: number }
  | { readonly kind: "list"; readonly query: PetQuery };

type Reply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "reused" }
  | { readonly kind: "down" };

/** It has no text once its animal is removed. */
interface Row {
  readonly id: number;
  readonly newPet: NewStorePet;
  readonly json: string | undefined;
}

type Result = StoredPet | ChangeOutcome | RemovalOutcome;

export class ExampleEngine {
  /** While this is true, the reply to every question is "down". */
  isDown = false;
  readonly #rows: Row[] = [];
  /** The request and the result of each hash. A real engine forgets a hash after 24 hours. */
  readonly #byHash = new Map<string, { readonly request: string; readonly result: Result }>();

  /** A connection, which the caller must close. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    port1.on("message", ([number, question]: readonly [number, Question]) => {
      port1.postMessage([number, this.isDown ? { kind: "down" } : this.#reply(question)]);
    });
    port1.unref();
    return port2;
  }

  #reply(question: Question): Reply {
    switch (question.kind) {
      case "add":
        return this.#once(question.idempotencyHash, `add ${petToJson({ ...question.newPet, id: 0 })}`, () =>
          this.#add(question.newPet),
        );
      case "change":
      case "remove":
        return this.#rows[question.id - 1] === undefined
          ? { kind: "result", result: { kind: "absent" } }
          : this.#once(question.idempotencyHash, `${question.id} ${statusAfter(question)}`, () =>
              this.#change(question.id, question),
            );
      case "get":
        return { kind: "result", result: this.#rows[question.id - 1]?.json };
      case "list":
        return { kind: "result", result: this.#list(question.query) };
    }
  }

  /** Only what was stored is remembered. */
  #once(hash: string | undefined, request: string, run: () => Result): Reply {
    const earlier = hash === undefined ? undefined : this.#byHash.get(hash);
    if (earlier !== undefined) {
      const isEqual = earlier.request === request;
      return isEqual ? { kind: "result", result: { ...earlier.result, isReplay: true } } : { kind: "reused" };
    }
    const result = run();
    const isStored = !("kind" in result) || result.kind === "changed" || result.kind === "removed";
    if (hash !== undefined && isStored) {
      this.#byHash.set(hash, { request, result });
    }
    return { kind: "result", result };
  }

  #add(newPet: NewStorePet): StoredPet {
    const id = this.#rows.length + 1;
    const json = petToJson({ ...newPet, id });
    this.#rows.push({ id, newPet, json });
    return { id, json };
  }

  #change(id: number, question: Question & { readonly kind: "change" | "remove" }): ChangeOutcome | RemovalOutcome {
    const { newPet, json: present } = this.#rows[id - 1]!; // There was the animal.
    const { from } = question.kind === "change" ? question.change : question.removal;
    if (present === undefined) {
      return { kind: "absent" };
    }
    if (!from.includes(newPet.status)) {
      return { kind: "mismatch", status: newPet.status };
    }
    if (question.kind === "remove") {
      this.#rows[id - 1] = { id, newPet, json: undefined };
      return { kind: "removed" };
    }
    const { status } = question.change;
    const json = petToJson({ ...newPet, status, id });
    this.#rows[id - 1] = { id, newPet: { ...newPet, status }, json };
    return { kind: "changed", json };
  }

  #list({ after, limit, status }: PetQuery): StorePetPage {
    const matching = this.#rows.slice(after).filter(({ newPet, json }) => {
      return json !== undefined && (status === undefined || newPet.status === status);
    });
    const page = matching.slice(0, limit);
    const nextAfter = matching.length > limit ? page.at(-1)?.id : undefined;
    return { json: `[${page.map(({ json }) => json).join(",")}]`, nextAfter };
  }
}

function statusAfter(question: Question & { readonly kind: "change" | "remove" }): string {
  return question.kind === "change" ? question.change.status : "removed";
}

export class ExampleStore implements PetStore {
  readonly #port: MessagePort;
  /** Takes the reply to each pending question, by its number. */
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #questionCount = 0;
  #isDown = false;
  #closing: Promise<void> | undefined;

  constructor(engine: ExampleEngine) {
    this.#port = engine.connect();
    this.#port.on("message", ([number, reply]: readonly [number, Reply]) => {
      this.#waiting.get(number)?.(reply);
      this.#waiting.delete(number);
      if (this.#waiting.size === 0) {
        this.#port.unref(); // Only a pending question keeps the process alive.
      }
    });
    this.#port.unref();
  }

  async add(newPet: NewStorePet, idempotencyHash?: string): Promise<StoredPet> {
    return (await this.#ask({ kind: "add", newPet, idempotencyHash })) as StoredPet; // The engine's reply to "add".
  }

  async changeStatus(id: number, change: StatusChange, idempotencyHash?: string): Promise<ChangeOutcome> {
    // The engine's reply to "change".
    return (await this.#ask({ kind: "change", id, change, idempotencyHash })) as ChangeOutcome;
  }

  async remove(id: number, removal: Removal, idempotencyHash?: string): Promise<RemovalOutcome> {
    // The engine's reply to "remove".
    return (await this.#ask({ kind: "remove", id, removal, idempotencyHash })) as RemovalOutcome;
  }

  async get(id: number): Promise<JsonText | undefined> {
    return (await this.#ask({ kind: "get", id })) as JsonText | undefined; // The engine's reply to "get".
  }

  async list(query: PetQuery): Promise<StorePetPage> {
    return (await this.#ask({ kind: "list", query })) as StorePetPage; // The engine's reply to "list".
  }

  /** By the engine's last reply: this method cannot wait for one. */
  isWritable(): boolean {
    return !this.#isDown && this.#closing === undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // The engine replies in order: this reply comes after all others.
    await this.#send({ kind: "get", id: 1 });
    this.#port.close();
  }

  async #ask(question: Question): Promise<unknown> {
    if (this.#closing !== undefined) {
      throw new StorageUnavailableError("the store is closed");
    }
    const reply = await this.#send(question);
    this.#isDown = reply.kind === "down";
    if (reply.kind === "down") {
      throw new StorageUnavailableError("the engine is down");
    }
    if (reply.kind === "reused") {
      throw new IdempotencyConflictError("the hash belongs to another request");
    }
    return reply.result;
  }

  #send(question: Question): Promise<Reply> {
    this.#questionCount++;
    const number = this.#questionCount;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.#port.ref();
      this.#port.postMessage([number, question]);
    });
  }
}
