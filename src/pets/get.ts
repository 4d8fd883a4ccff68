/**
 * getPet: `GET /pets/{petId}`, deprecated; its removal has a date.
 */

import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import { whenReady } from "../base/when-ready.ts";
import type { PetRequest } from "./pet-request.ts";
import { checkedJson, type JsonText } from "./pet-store.ts";

/** Deprecated since release 1.0.0, 2026-11-21 (RFC 9745, 2.1: Unix seconds as a structured Date). */
export const deprecationField = "@1795219200";
/** The date of removal (RFC 8594, 3). */
export const sunsetField = "Thu, 05 Dec 2030 00:00:00 GMT";

/** The fields of every response of the route: name, value, … The link names what replaces it (RFC 5829, 3.2). */
export function deprecationFields(linkBase: string): readonly string[] {
  const successor = `<${linkBase}/pets>; rel="successor-version"`;
  return ["Deprecation", deprecationField, "Sunset", sunsetField, "Link", successor];
}

/** 200 with the Pet; 404 if `petId` is not the id of an animal. */
export function getPet({ store, parameter }: PetRequest): Response | Promise<Response> {
  const id = readPetId(parameter);
  return id === undefined ? petResponse(undefined) : whenReady(store.get(id), petResponse);
}

function petResponse(json: JsonText | undefined): Response {
  return json === undefined ? errorResponse("pet_not_found") : jsonResponse(200, checkedJson(json));
}

/**
 * Reads an id from a path segment: a positive safe integer in decimal, without sign or leading zero. Returns undefined
 * for any other text: no animal has it as its id.
 */
export function readPetId(segment: string): number | undefined {
  const id = /^[1-9][0-9]*$/.test(segment) ? Number(segment) : 0;
  return id > 0 && id <= Number.MAX_SAFE_INTEGER ? id : undefined;
}
