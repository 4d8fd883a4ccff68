/**
 * The catalogue as the handlers know it. Nothing here says how or where animals are kept, and every method is
 * asynchronous, so that an engine shared by several processes can take the place of the log on this disk.
 *
 * A store hands out JSON text, not objects: it is what the client gets, and parsing what was stored as text only to
 * print it again was the largest cost of a request.
 */

import type { NewPet, PetStatus } from "../pets/pet.ts";

/** UTF-8 JSON. Whoever receives it must not change it: a store may hand out its own memory. */
export type JsonText = string | Uint8Array;

export interface StoredPet {
  readonly id: number;
  /** One Pet object. */
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
  /** A JSON array of Pet objects, ascending by id. */
  readonly json: JsonText;
  /** Where more animals match than the page holds: the last id in it, to ask on from. */
  readonly nextAfter: number | undefined;
}

export interface PetStore {
  /**
   * Adds an animal and resolves when it would survive a loss of power. No reader sees it earlier. Ids are 1, 2, 3, …
   * in the order of the calls that succeed.
   *
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  add(newPet: NewPet): Promise<StoredPet>;
  /** The animal as one JSON object; undefined where there is none of this id (a positive safe integer). */
  get(id: number): JsonText | undefined | Promise<JsonText | undefined>;
  list(query: PetQuery): PetPage | Promise<PetPage>;
  /** False once adding cannot succeed any more without help from outside. */
  isWritable(): boolean;
  /** Resolves when everything accepted is kept and everything held is released. Closing twice is fine. */
  close(): Promise<void>;
}

/** The animal was not stored, and trying again later may succeed. */
export class StorageUnavailableError extends Error {
  override readonly name = "StorageUnavailableError";
}

/** The sync of the animal failed: it may or may not have been stored. */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}
