/**
 * createPet: `POST /pets`.
 */

import { decimal } from "../decimal.ts";
import { type Response, jsonResponse, errorResponse } from "../http/response.ts";
import { decodeJson, JsonSyntaxError, type JsonValue, readJson } from "./json.ts";
import type { PetRequest } from "./pet-request.ts";
import { validateNewPet } from "./validate.ts";

/** 201 with the Pet once it is on disk; 400. */
export function createPet({ store, content, linkBase }: PetRequest): Response | Promise<Response> {
  let body: JsonValue;
  try {
    body = readJson(decodeJson(content));
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      return errorResponse("malformed_json", [], error.message);
    }
    throw error;
  }
  const validation = validateNewPet(body);
  if (validation.kind === "invalid") {
    return errorResponse("invalid_body", [], validation.message);
  }
  return store.add(validation.value).then(({ id, json }) => {
    return jsonResponse(201, json, ["Location", `${linkBase}/pets/${decimal(id)}`]);
  });
}
