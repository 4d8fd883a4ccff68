/**
 * The catalogue as the handlers know it, wherever animals are stored. A store returns JSON text, which is what the
 * client receives: parsing it only to print it again would be the largest cost of a request.
 *
 * Many calls are in progress at a time, and may settle in any order. Their arguments have been validated.
 * `test/support/store-suites` tests every promise made here.
 */

import type { NewPet, PetChange, PetStatus } from "./pet.ts";
import type { Preconditions } from "./precondition.ts";

/** UTF-8 JSON. Neither the caller nor the store may change it: it may be the store's memory, still being sent. */
export type JsonText = string | Uint8Array;

export interface StoredPet {
  readonly id: number;
  /** True if an earlier `add` with the same hash stored it. */
  readonly isReplay?: boolean;
  /** One Pet object, as `petToJson` writes it: the same text from `get` and `list`, until the animal changes. */
  readonly json: JsonText;
}

/** An animal as one of its changes left it. */
export interface PetVersion {
  /** One Pet object, as `petToJson` writes it. */
  readonly json: JsonText;
  /** 1 when the animal is added, and one more with each change of it, up to `petVersionMax`. */
  readonly version: number;
}

/** So that a version is an `int` of a database, too. */
export const petVersionMax = 2 ** 31 - 1;

/** Nothing was stored. */
export type Refusal =
  /** The animal has this status and version, which the preconditions do not allow. */
  | { readonly kind: "mismatch"; readonly status: PetStatus; readonly version: number }
  /** There is no animal with the id: it was never given, or its animal was removed. */
  | { readonly kind: "absent" };

export type ChangeOutcome =
  | {
      readonly kind: "changed";
      /** The animal as this change, or the first one of a replay, left it. */
      readonly json: JsonText;
      /** Undefined if the first one of a replay was stored by a release that knew no versions. */
      readonly version: number | undefined;
      /** True if an earlier `change` with the same hash stored it. */
      readonly isReplay?: boolean;
    }
  | Refusal;

export type RemovalOutcome =
  | {
      readonly kind: "removed";
      /** True if an earlier `remove` with the same hash stored it. */
      readonly isReplay?: boolean;
    }
  | Refusal;

export interface PetQuery {
  /** Only animals with a greater id. An integer from 0 to `Number.MAX_SAFE_INTEGER`. */
  readonly after: number;
  /** The most animals to return, 1 or more. */
  readonly limit: number;
  /** Only animals of this status; all if undefined. */
  readonly status: PetStatus | undefined;
  /** Only animals of this category; all if undefined. */
  readonly categoryId?: bigint | undefined;
}

export interface PetPage {
  /** A JSON array of Pet objects, ascending by id: their texts, separated by commas without white space. */
  readonly json: JsonText;
  /** If more animals match than the page holds, the last id in it: the `after` of the next page. */
  readonly nextAfter: number | undefined;
}

export interface PetStore {
  /**
   * Adds an animal and resolves when it would survive a loss of power; readers see it from then on, and not earlier. No
   * reader sees it before all animals with smaller ids, so paging by `after` misses none. Ids are 1, 2, 3, … in the
   * order of the calls that succeed, and never reused.
   *
   * With a hash, the same `add` may be called again and adds one animal only. The hash counts for 24 hours from the
   * creation, also after a restart, at least for the last million requests that had one. A second call with an equal
   * animal resolves to the result of the first, with `isReplay`, also if the animal has changed since, or was removed.
   * A call that throws is not remembered. The service never has two calls with one hash in progress.
   * @param idempotencyHash 22 characters of base64url; a store may treat them as 128 random bits
   * @throws {IdempotencyConflictError} the hash belongs to another animal, or to a change
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  add(newPet: NewPet, idempotencyHash?: string): Promise<StoredPet>;
  /**
   * Gives members of an animal other values if the preconditions allow it as it is, and resolves when the change would
   * survive a loss of power; readers see it from then on, and not earlier. Changes of one animal happen one after the
   * other, in any order: of those that take it out of a status, or out of a version, at once, one succeeds. Each change
   * makes a version, which the animal never had before.
   *
   * Hashes are shared with `add`, and count as long. A second call with the hash and the animal of an earlier one
   * resolves to its result, with `isReplay`, whatever the preconditions are and whatever has happened since, if that
   * result has every value that this call names. A change to what is there already makes a version, and is remembered,
   * only with a hash. A "mismatch" or an "absent" is not remembered.
   * @throws {IdempotencyConflictError} the hash belongs to another request, and the id was given
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  change(id: number, change: PetChange, allowed: Preconditions, idempotencyHash?: string): Promise<ChangeOutcome>;
  /**
   * Removes an animal for good if the preconditions allow it as it is, and resolves when the removal would survive a
   * loss of power; no reader sees the animal from then on. A removal counts as a change: of several at once, one
   * succeeds. The animal's id is never given again.
   *
   * Hashes are as for `change`. Those of the animal still count: a client that repeats an `add`, a change or a removal
   * gets the result of the first one, also after the animal was removed.
   * @throws as `change`
   */
  remove(id: number, allowed: Preconditions, idempotencyHash?: string): Promise<RemovalOutcome>;
  /**
   * The animal as it is; undefined if there is none with this id (a positive safe integer).
   * @throws {StorageUnavailableError} it cannot be read now
   */
  get(id: number): PetVersion | undefined | Promise<PetVersion | undefined>;
  /** @throws {StorageUnavailableError} it cannot be read now */
  list(query: PetQuery): PetPage | Promise<PetPage>;
  /** False makes `/healthz` 503: while adding needs help from outside, and after `close()`. Must not throw. */
  isWritable(): boolean;
  /**
   * Refuses further adds, changes and removals by StorageUnavailableError, and resolves when all in progress are
   * settled, and every resource is released. Afterwards `get` and `list` still work or throw it too.
   */
  close(): Promise<void>;
}

/** The hash belongs to another request. Nothing was stored. */
export class IdempotencyConflictError extends Error {
  override readonly name = "IdempotencyConflictError";
}

/** The store cannot be used now, and nothing was stored. A retry may succeed. */
export class StorageUnavailableError extends Error {
  override readonly name = "StorageUnavailableError";
}

/** The animal, or its change, may or may not have been stored. */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}
