/**
 * The routes below the base path and what each method of theirs does: the three operations of the specification.
 */

import type { Response } from "../http/response.ts";
import type { Route } from "../http/router.ts";
import { createPet } from "../pets/create.ts";
import { getPet, petFields } from "../pets/get.ts";
import { listPets } from "../pets/list.ts";
import type { PetRequest } from "../pets/pet-request.ts";

export interface Operation {
  readonly handle: (request: PetRequest) => Response | Promise<Response>;
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
];
