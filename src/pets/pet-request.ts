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
  /** The API key, to which an `Idempotency-Key` belongs. */
  readonly key: { readonly id: string };
  /** The header fields, by name in lower case; several of one name are joined by a comma and a space. */
  readonly fields: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The address of the API, to which `/pets…` is appended to make a link. */
  readonly linkBase: string;
}
