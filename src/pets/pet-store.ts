/**
 * The catalogue as the handlers know it. Nothing here says how or where animals are kept, and whatever may have to wait
 * can be a promise, so that an engine shared by several processes can take the place of the log on this disk.
 *
 * A store hands out JSON text, not objects: it is what the client gets, and parsing what was stored as text only to
 * print it again was the largest cost of a request.
 *
 * Many calls are under way at a time, and may settle in any order. What they are given has been validated. Whatever
 * they throw beyond the errors named here is answered 500, and told to the operator. `test/store/pet-store-suite.ts`
 * holds a store to all that is promised here.
 */

import type { NewPet, PetStatus } from "./pet.ts";

/**
 * UTF-8 JSON. Whoever receives it must not change it: a store may hand out its own memory. Nor may the store, from then
 * on: it may wait for a slow client.
 */
export type JsonText = string | Uint8Array;

export interface StoredPet {
  readonly id: number;
  /** One Pet object, as `petToJson` writes it: the same text from `add`, `get` and `list`, for ever. */
  readonly json: JsonText;
}

export interface PetQuery {
  /** Only animals with a greater id. An integer from 0 to `Number.MAX_SAFE_INTEGER`. */
  readonly after: number;
  /** At most so many, 1 or more. */
  readonly limit: number;
  /** Only animals of this status; all where undefined. */
  readonly status: PetStatus | undefined;
}

export interface PetPage {
  /** A JSON array of Pet objects, ascending by id: their texts with a comma in between, and no white space. */
  readonly json: JsonText;
  /** Where more animals match than the page holds: the last id in it, to ask on from. */
  readonly nextAfter: number | undefined;
}

export interface PetStore {
  /**
   * Adds an animal and resolves when it would survive a loss of power; whoever asks from then on sees it. No reader
   * sees it earlier, nor before all animals with smaller ids: who asks for greater ids than the last one seen misses
   * none. Ids are 1, 2, 3, … in the order of the calls that succeed, and never used again.
   *
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  add(newPet: NewPet): Promise<StoredPet>;
  /**
   * The animal as one JSON object; undefined where there is none of this id (a positive safe integer).
   *
   * @throws {StorageUnavailableError} it cannot be read now
   */
  get(id: number): JsonText | undefined | Promise<JsonText | undefined>;
  /** @throws {StorageUnavailableError} it cannot be read now */
  list(query: PetQuery): PetPage | Promise<PetPage>;
  /** False once adding cannot succeed any more without help from outside, and once closed. Must not throw. */
  isWritable(): boolean;
  /**
   * Takes no more, and resolves when each `add` under way is decided and everything held is released. Closing twice is
   * fine. From then on `add` throws StorageUnavailableError, and `get` and `list` answer or throw it too.
   */
  close(): Promise<void>;
}

/** The store cannot be used now, and trying again later may succeed. An animal was not stored. */
export class StorageUnavailableError extends Error {
  override readonly name = "StorageUnavailableError";
}

/** The sync of the animal failed: it may or may not have been stored. */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}
