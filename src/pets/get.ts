/**
 * getPet: `GET /pets/{petId}`, deprecated.
 */

import { type Response, jsonResponse, errorResponse } from "../http/response.ts";
import type { PetRequest } from "./pet-request.ts";
import type { JsonText } from "./pet-store.ts";
import { validatePetId } from "./validate.ts";
import { whenReady } from "../http/when-ready.ts";

/** 200 with the Pet; 404 for whatever is not the canonical decimal of an existing animal's id. */
export function getPet({ store, parameter }: PetRequest): Response | Promise<Response> {
  const id = validatePetId(parameter);
  return id === undefined ? petAnswer(undefined) : whenReady(store.get(id), petAnswer);
}

function petAnswer(json: JsonText | undefined): Response {
  return json === undefined ? errorResponse("pet_not_found") : jsonResponse(200, json);
}

/** Since release 1.0.0, 2026-11-21 (RFC 9745, 2.1: a Unix time in the form of a structured Date). */
export const deprecationField = "@1795219200";
/** The removal date of the specification (RFC 8594, 3). */
export const sunsetField = "Thu, 05 Dec 2030 00:00:00 GMT";

/** What every response of this route carries: since when it is deprecated, until when it stays, what replaces it. */
export function retirementFields(linkBase: string): readonly string[] {
  const link = `<${linkBase}/pets>; rel="successor-version"`; // RFC 5829, 3.2
  return ["Deprecation", deprecationField, "Sunset", sunsetField, "Link", link];
}
