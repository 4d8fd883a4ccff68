/**
 * listPets: `GET /pets`.
 */

import { decimal } from "../decimal.ts";
import { type Response, jsonResponse, errorResponse } from "../http/response.ts";
import type { PetRequest } from "./pet-request.ts";
import type { PetQuery } from "./pet-store.ts";
import { validateListQuery } from "./validate.ts";
import { whenReady } from "../http/when-ready.ts";

/** 200 with an array of Pet, and a link to the next page where more animals match (RFC 8288); 400. */
export function listPets({ store, query, linkBase }: PetRequest): Response | Promise<Response> {
  const validation = validateListQuery(query);
  if (validation.kind === "invalid") {
    return errorResponse("invalid_parameter", [], validation.message);
  }
  const petQuery = validation.value;
  return whenReady(store.list(petQuery), ({ json, nextAfter }) => {
    const link = nextAfter === undefined ? undefined : ["Link", nextLink(linkBase, petQuery, nextAfter)];
    return jsonResponse(200, json, link);
  });
}

function nextLink(linkBase: string, { limit, status }: PetQuery, nextAfter: number): string {
  const filter = status === undefined ? "" : `&status=${status}`;
  return `<${linkBase}/pets?limit=${limit}${filter}&after=${decimal(nextAfter)}>; rel="next"`;
}
