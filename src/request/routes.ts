/**
 * The routes below the base path, and what each method does there.
 */

import type { Response } from "../http/response.ts";
import type { RoutePattern } from "../http/router.ts";
import type { MaybePromise } from "../http/when-ready.ts";
import { createPet } from "../pets/create.ts";
import { getPet, retirementFields } from "../pets/get.ts";
import { listPets } from "../pets/list.ts";
import type { PetRequest } from "../pets/pet-request.ts";

export interface Operation {
  readonly handle: (request: PetRequest) => MaybePromise<Response>;
  readonly takesContent: boolean;
}

export interface Route extends RoutePattern<Operation> {
  /** Fields of every response of this route: name, value, name, value, … */
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
    fields: retirementFields,
  },
];
