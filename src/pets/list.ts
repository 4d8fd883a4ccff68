/**
 * listPets: `GET /pets`.
 */

import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import { whenReady } from "../base/when-ready.ts";
import { readListQuery } from "./list-query.ts";
import type { PetRequest } from "./pet-request.ts";
import { checkedJson, type PetQuery } from "./pet-store.ts";

/** 200 with an array of Pet, and a link to the next page if more animals match (RFC 8288); 400. */
export function listPets({ store, query, linkBase }: PetRequest): Response | Promise<Response> {
  const reading = readListQuery(query);
  if (reading.kind === "invalid") {
    return errorResponse("invalid_parameter", [], reading.message);
  }
  const petQuery = reading.value;
  return whenReady(store.list(petQuery), ({ json, nextAfter }) => {
    // No id is 0. A store whose author has no types may say null.
    const link = nextAfter ? ["Link", nextLink(linkBase, petQuery, nextAfter)] : undefined;
    return jsonResponse(200, checkedJson(json), link);
  });
}

function nextLink(linkBase: string, { limit, status }: PetQuery, nextAfter: number): string {
  const filter = status === undefined ? "" : `&status=${status}`;
  return `<${linkBase}/pets?limit=${limit}${filter}&after=${nextAfter}>; rel="next"`;
}
