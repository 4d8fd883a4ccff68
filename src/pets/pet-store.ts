/**
 * The catalogue as the handlers know it, wherever animals are stored. A store returns JSON text, which is what the
 * client receives: parsing it only to print it again would be the largest cost of a request.
 *
 * Many calls are in progress at a time, and may settle in any order. Their arguments have been validated. Any error
 * besides those named here becomes a 500, and is reported to the operator. The service waits as long as a method takes.
 * `test/support/store-suites` tests every promise made here.
 */

import type { NewPet, PetStatus } from "./pet.ts";

/** UTF-8 JSON. Neither the caller nor the store may change it: it may be the store's memory, still being sent. */
export type JsonText = string | Uint8Array;

export interface StoredPet {
  readonly id: number;
  /** True if an earlier `add` with the same hash stored it. */
  readonly isReplay?: boolean;
  /** One Pet object, as `petToJson` writes it: the same text from `get` and `list`, until the status changes. */
  readonly json: JsonText;
}

export interface StatusChange {
  readonly status: PetStatus;
  /** The statuses that the animal may have before the change. It may also be none. */
  readonly from: readonly PetStatus[];
}

/** Nothing was stored. */
export type Refusal =
  /** The animal has this status, which is none of `from`. */
  | { readonly kind: "mismatch"; readonly status: PetStatus }
  /** There is no animal with the id: it was never given, or its animal was removed. */
  | { readonly kind: "absent" };

export type ChangeOutcome =
  | {
      readonly kind: "changed";
      /** The animal with the new status. */
      readonly json: JsonText;
      /** True if an earlier `changeStatus` with the same hash stored it. */
      readonly isReplay?: boolean;
    }
  | Refusal;

export type Removal = Pick<StatusChange, "from">;

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
   * animal resolves to the result of the first, with `isReplay`, also if its status has changed since, or it was
   * removed. A call that throws is not remembered. The service never has two calls with one hash in progress.
   * @param idempotencyHash 22 characters of base64url; a store may treat them as 128 random bits
   * @throws {IdempotencyConflictError} the hash belongs to another animal, or to a change
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  add(newPet: NewPet, idempotencyHash?: string): Promise<StoredPet>;
  /**
   * Changes the status of an animal if it is one of `from`, and resolves when the change would survive a loss of power;
   * readers see it from then on, and not earlier. Changes of one animal happen one after the other, in any order: of
   * those that take it out of a status at once, one succeeds.
   *
   * Hashes are shared with `add`, and count as long. A second call with the hash, the animal and the status of an
   * earlier one resolves to its result, with `isReplay`, whatever `from` is and whatever has happened since. A change
   * to the status that was there already is remembered too, a "mismatch" or an "absent" is not.
   * @throws {IdempotencyConflictError} the hash belongs to another request, and the id was given
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {OutcomeUnknownError} it may have been stored
   */
  changeStatus(id: number, change: StatusChange, idempotencyHash?: string): Promise<ChangeOutcome>;
  /**
   * Removes an animal for good if its status is one of `from`, and resolves when the removal would survive a loss of
   * power; no reader sees the animal from then on. A removal takes the animal out of its status, as a change does: of
   * several at once, one succeeds. Its id is never given again.
   *
   * Hashes are as for `changeStatus`. Those of the animal still count: a client that repeats an `add`, a change or a
   * removal gets the result of the first one, also after the animal was removed.
   * @throws as `changeStatus`
   */
  remove(id: number, removal: Removal, idempotencyHash?: string): Promise<RemovalOutcome>;
  /**
   * The animal as one JSON object; undefined if there is none with this id (a positive safe integer).
   * @throws {StorageUnavailableError} it cannot be read now
   */
  get(id: number): JsonText | undefined | Promise<JsonText | undefined>;
  /** @throws {StorageUnavailableError} it cannot be read now */
  list(query: PetQuery): PetPage | Promise<PetPage>;
  /** False makes `/healthz` 503: while adding needs help from outside, and after `close()`. Must not throw. */
  isWritable(): boolean;
  /**
   * Refuses further adds, changes and removals, and resolves when all in progress are settled and every resource is
   * released. Closing twice is allowed. Afterwards each of them throws StorageUnavailableError; `get` and `list` still
   * work or throw it too.
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
