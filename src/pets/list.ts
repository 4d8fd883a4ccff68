/**
 * listPets: `GET /pets`.
 */

import { decimal } from "../decimal.ts";
import { type Answer, answer, refusal } from "../http/response.ts";
import type { PetRequest } from "./pet-request.ts";
import type { PetQuery } from "./pet-store.ts";
import { validateListQuery } from "./validate.ts";
import { whenThere } from "./when-there.ts";

/** 200 with an array of Pet, and a link to the next page where more animals match (RFC 8288); 400. */
export function listPets({ store, query, linkBase }: PetRequest): Answer | Promise<Answer> {
  const validation = validateListQuery(query);
  if (validation.kind === "invalid") {
    return refusal("invalid_parameter", [], validation.message);
  }
  const petQuery = validation.value;
  return whenThere(store.list(petQuery), ({ json, nextAfter }) =>
    nextAfter === undefined ? answer(200, json) : answer(200, json, ["Link", nextLink(linkBase, petQuery, nextAfter)]),
  );
}

function nextLink(linkBase: string, { limit, status }: PetQuery, nextAfter: number): string {
  const filter = status === undefined ? "" : `&status=${status}`;
  return `<${linkBase}/pets?limit=${limit}${filter}&after=${decimal(nextAfter)}>; rel="next"`;
}
