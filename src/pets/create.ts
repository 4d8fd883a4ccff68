/**
 * createPet: `POST /pets`.
 */

import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import { idempotencyHash, readIdempotencyKey } from "./idempotency-key.ts";
import { readNewPet } from "./new-pet.ts";
import type { PetRequest } from "./pet-request.ts";
import { checkedJson, IdempotencyConflictError, type StoredPet } from "./pet-store.ts";

/** 201 with the Pet once it is on disk; the same 201 for an `Idempotency-Key` sent again; 400; 422. */
export function createPet(request: PetRequest, content: Uint8Array): Response | Promise<Response> {
  const { store, linkBase, fields, key } = request;
  const idempotencyField = fields["idempotency-key"]?.toString();
  const idempotencyKey = idempotencyField === undefined ? undefined : readIdempotencyKey(idempotencyField);
  if (idempotencyField !== undefined && idempotencyKey === undefined) {
    return errorResponse("invalid_idempotency_key");
  }
  const reading = readNewPet(content);
  if (reading.kind !== "valid") {
    const code = reading.kind === "malformed" ? "malformed_json" : "invalid_body";
    return errorResponse(code, [], reading.message);
  }
  const hash = idempotencyKey === undefined ? undefined : idempotencyHash(key.id, idempotencyKey);
  return store.add(reading.value, hash).then((stored) => createdResponse(stored, linkBase), reuseResponse);
}

function createdResponse({ id, json, isReplay }: StoredPet, linkBase: string): Response {
  const location = ["Location", `${linkBase}/pets/${id}`];
  const fields = isReplay === true ? [...location, "Idempotent-Replayed", "true"] : location;
  return jsonResponse(201, checkedJson(json), fields);
}

function reuseResponse(error: unknown): Response {
  if (error instanceof IdempotencyConflictError) {
    return errorResponse("idempotency_key_reused");
  }
  throw error;
}
