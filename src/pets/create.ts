/**
 * createPet: `POST /pets`.
 */

import { type Response, errorResponse, jsonResponse } from "../http/response.ts";
import { readNewPet } from "./new-pet.ts";
import type { PetRequest } from "./pet-request.ts";

/** 201 with the Pet once it is on disk; 400. */
export function createPet({ store, content, linkBase }: PetRequest): Response | Promise<Response> {
  const reading = readNewPet(content);
  if (reading.kind !== "valid") {
    const code = reading.kind === "malformed" ? "malformed_json" : "invalid_body";
    return errorResponse(code, [], reading.message);
  }
  return store.add(reading.value).then(({ id, json }) => {
    return jsonResponse(201, json, ["Location", `${linkBase}/pets/${id}`]);
  });
}
