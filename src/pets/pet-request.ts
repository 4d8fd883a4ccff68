/**
 * The arguments of the handlers of pets.
 */

import type { PetStore } from "./pet-store.ts";

export interface PetRequest {
  readonly store: PetStore;
  /** The raw text after `?`; "" if there is none. */
  readonly query: string;
  /** The path segment at `{petId}`, as it was sent. */
  readonly parameter: string;
  /** The content, whole and within its bound; empty for operations that take none. */
  readonly content: Uint8Array;
  /** The API key, to which an `Idempotency-Key` belongs. */
  readonly key: { readonly id: string };
  /** The raw `Idempotency-Key` field; several are joined by a comma and a space. */
  readonly idempotencyField: string | undefined;
  /** The address of the API, to which `/pets…` is appended to make a link. */
  readonly linkBase: string;
}
