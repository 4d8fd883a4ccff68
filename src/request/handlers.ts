/** The handlers of all operations: listPets, createPet, getPet and getLimits. */

import { whenReady } from "../base/when-ready.ts";
import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import type { ApiKey } from "../keys/key.ts";
import type { Quotas, RateStatus } from "../limits/limiter.ts";
import { idempotencyHash, readIdempotencyKey } from "../pets/idempotency-key.ts";
import { readListQuery } from "../pets/list-query.ts";
import { readNewPet } from "../pets/new-pet.ts";
import { readPetId } from "../pets/pet.ts";
import type { JsonText, PetQuery, PetStore } from "../pets/pet-store.ts";
import { checkedJson, IdempotencyConflictError } from "../pets/pet-store.ts";

export interface ApiRequest {
  readonly store: PetStore;
  /** The raw text after `?`; "" if there is none. */
  readonly query: string;
  /** The path segment at `{petId}`, as it was sent. */
  readonly parameter: string;
  /** An `Idempotency-Key` belongs to it. */
  readonly key: ApiKey;
  readonly quotas: () => Quotas;
  /** The header fields, by name in lower case; several of one name are joined by a comma and a space. */
  readonly fields: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The address of the API, to which `/pets…` is appended to make a link. */
  readonly linkBase: string;
}

/** `GET /pets`: 200 with an array of Pet, and a link to the next page if more animals match (RFC 8288); 400. */
export function listPets({ store, query, linkBase }: ApiRequest): Response | Promise<Response> {
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

/** `POST /pets`: 201 with the Pet once it is on disk; the same 201 for an `Idempotency-Key` sent again; 400; 422. */
export function createPet(request: ApiRequest, content: Uint8Array): Response | Promise<Response> {
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
  return store.add(reading.value, hash).then(({ id, json, isReplay }) => {
    const location = ["Location", `${linkBase}/pets/${id}`];
    const responseFields = isReplay === true ? [...location, "Idempotent-Replayed", "true"] : location;
    return jsonResponse(201, checkedJson(json), responseFields);
  }, reuseResponse);
}

function reuseResponse(error: unknown): Response {
  if (error instanceof IdempotencyConflictError) {
    return errorResponse("idempotency_key_reused");
  }
  throw error;
}

/** getPet is deprecated since release 1.0.0, 2026-11-21 (RFC 9745, 2.1: Unix seconds as a structured Date). */
export const deprecationField = "@1795219200";
/** The date of removal (RFC 8594, 3). */
export const sunsetField = "Thu, 05 Dec 2030 00:00:00 GMT";

/** The fields of every response of getPet's route. The link names what replaces it (RFC 5829, 3.2). */
export function deprecationFields(linkBase: string): readonly string[] {
  const successor = `<${linkBase}/pets>; rel="successor-version"`;
  return ["Deprecation", deprecationField, "Sunset", sunsetField, "Link", successor];
}

/** `GET /pets/{petId}`: 200 with the Pet; 404 if `petId` is not the id of an animal. */
export function getPet({ store, parameter }: ApiRequest): Response | Promise<Response> {
  const id = readPetId(parameter);
  return id === undefined ? petResponse(undefined) : whenReady(store.get(id), petResponse);
}

function petResponse(json: JsonText | undefined): Response {
  return json === undefined ? errorResponse("pet_not_found") : jsonResponse(200, checkedJson(json));
}

/** `GET /limits`: 200 with the plan and both quotas of the key, this request included. */
export function getLimits({ key, quotas }: ApiRequest): Response {
  const { minute, day } = quotas();
  return jsonResponse(200, JSON.stringify({ plan: key.plan.name, minute: quota(minute), day: quota(day) }));
}

/** `reset` is in Unix seconds, as in `X-RateLimit-Reset`. */
function quota({ limit, remaining, resetSeconds }: RateStatus): object {
  return { limit, remaining, reset: resetSeconds };
}
