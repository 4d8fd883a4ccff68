/**
 * The routes below the base path and the operation of each of their methods.
 */

import type { Response } from "../http/response.ts";
import type { Route } from "../http/router.ts";
import { createPet } from "../pets/create.ts";
import { getPet, petFields } from "../pets/get.ts";
import { listPets } from "../pets/list.ts";
import type { PetRequest } from "../pets/pet-request.ts";
import { getLimits, type LimitsRequest } from "./limits.ts";

/** What every handler is given; each declares the part that it needs. */
export type ApiRequest = PetRequest & LimitsRequest;

export interface Operation {
  readonly handle: (request: ApiRequest) => Response | Promise<Response>;
  readonly takesContent: boolean;
}

export interface RouteWithFields extends Route<Operation> {
  /** The fields of every response of the route: name, value, … */
  readonly fields: (linkBase: string) => readonly string[];
}

export const petRoute: RouteWithFields = {
  pattern: "/pets/{petId}",
  fields: petFields,
  operations: { GET: { handle: getPet, takesContent: false } },
};

export const routes: readonly Route<Operation>[] = [
  {
    pattern: "/pets",
    operations: {
      GET: { handle: listPets, takesContent: false },
      POST: { handle: createPet, takesContent: true },
    },
  },
  petRoute,
  { pattern: "/limits", operations: { GET: { handle: getLimits, takesContent: false } } },
];
