/**
 * The routes below the base path and the operation of each of their methods.
 */

import type { Response } from "../http/response.ts";
import type { RoutePattern } from "../http/router.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { createPet, deprecationFields, getPet, listPets, type PetRequest } from "../pets/handlers.ts";
import { getLimits, type LimitsRequest } from "./get-limits.ts";

/** The arguments of every handler. Each handler declares the part that it needs. */
export type ApiRequest = PetRequest & LimitsRequest;

export interface Operation {
  /** @param content whole and within its bound; empty for operations that take none */
  readonly handle: (request: ApiRequest, content: Uint8Array) => MaybePromise<Response>;
  readonly takesContent: boolean;
}

export interface Route extends RoutePattern<Operation> {
  /** The fields of every response of the route: name, value, name, value, … */
  readonly fields?: (linkBase: string) => readonly string[];
}

export const routes: readonly Route[] = [
  {
    pattern: "/pets",
    operations: {
      GET: { handle: listPets, takesContent: false },
      POST: { handle: createPet, takesContent: true },
    },
  },
  {
    pattern: "/pets/{petId}",
    operations: { GET: { handle: getPet, takesContent: false } },
    fields: deprecationFields,
  },
  { pattern: "/limits", operations: { GET: { handle: getLimits, takesContent: false } } },
];
