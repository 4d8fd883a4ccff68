/** The handlers of all operations: listPets, createPet, getPet, changePet, removePet and getLimits. */

import { type MaybePromise, whenReady } from "../base/when-ready.ts";
import { jsonTypes, patchTypes } from "../http/media-type.ts";
import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import type { ApiKey } from "../keys/key.ts";
import type { Quotas, RateStatus } from "../limits/limiter.ts";
import { idempotencyHash, readIdempotencyKey } from "../pets/idempotency-key.ts";
import { nextQuery, readListQuery } from "../pets/list-query.ts";
import { readNewPet, readPetChange, type Reading } from "../pets/new-pet.ts";
import { readPetId, statusIn } from "../pets/pet.ts";
import type { PetStore, PetVersion, Refusal } from "../pets/pet-store.ts";
import { IdempotencyConflictError } from "../pets/pet-store.ts";
import {
  entityTag, namesStatus, outcomeFor, type Preconditions, readPreconditions,
} from "../pets/precondition.ts";
import { handleContent, type Outcome, type Unread } from "./content.ts";

/** A request for the catalogue, from a client with a key or from the embedding program. */
export interface PetRequest {
  readonly store: PetStore;
  /** The raw text after `?`; "" if there is none. */
  readonly query: string;
  /** The path segment at `{petId}`, as it was sent. */
  readonly parameter: string;
  /** The key that sends the request: each key has `Idempotency-Key` values of its own. */
  readonly key: Pick<ApiKey, "id">;
  /** The header fields, by name in lower case; several of one name are joined by a comma and a space. */
  readonly fields: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The address of the API, to which `/pets…` is appended to make a link. */
  readonly linkBase: string;
}

/** A request from a client with a key. */
export interface KeyedRequest extends PetRequest {
  readonly key: ApiKey;
  readonly quotas: () => Quotas;
}

/** What a part of a request says, or the response that refuses it. */
type Part<Value> =
  | { readonly kind: "valid"; readonly value: Value }
  | { readonly kind: "refused"; readonly response: Response };

/** `GET /pets`: 200 with an array of Pet, and a link to the next page if more animals match (RFC 8288); 400. */
export function listPets({ store, query, linkBase }: PetRequest): Response | Promise<Response> {
  const reading = readListQuery(query);
  if (reading.kind === "invalid") {
    return errorResponse("invalid_parameter", [], reading.message);
  }
  const petQuery = reading.value;
  return whenReady(store.list(petQuery), ({ json, nextAfter }) => {
    const link = nextAfter === undefined
      ? undefined
      : ["Link", `<${linkBase}/pets?${nextQuery(petQuery, nextAfter)}>; rel="next"`];
    return jsonResponse(200, json, link);
  });
}

/** `POST /pets`: 201 with the Pet once it is on disk; the same 201 for an `Idempotency-Key` sent again; 400; 422. */
export function createPet(request: PetRequest, unread: Unread): MaybePromise<Outcome> {
  const { store, linkBase } = request;
  return handleContent(unread, jsonTypes, (content) => {
    const hash = readHash(request);
    if (hash.kind === "refused") {
      return hash.response;
    }
    const reading = readNewPet(content);
    if (reading.kind !== "valid") {
      return contentError(reading);
    }
    return store.add(reading.value, hash.value).then(({ id, json, isReplay }) => {
      const own = ["Location", `${linkBase}/pets/${id}`, "ETag", entityTag(reading.value.status, 1)];
      return { ...jsonResponse(201, json, withReplay(own, isReplay)), effect: { pet: id } };
    }, reuseResponse);
  });
}

/** The idempotency hash of a request, undefined if it has no `Idempotency-Key`. */
function readHash({ fields, key }: PetRequest): Part<string | undefined> {
  const field = fields["idempotency-key"]?.toString();
  const value = field === undefined ? undefined : readIdempotencyKey(field);
  return field !== undefined && value === undefined
    ? { kind: "refused", response: errorResponse("invalid_idempotency_key") }
    : { kind: "valid", value: value && idempotencyHash(key.id, value) };
}

function contentError({ kind, message }: Exclude<Reading<unknown>, { readonly kind: "valid" }>): Response {
  return errorResponse(kind === "malformed" ? "malformed_json" : "invalid_body", [], message);
}

function withReplay(fields: readonly string[], isReplay: boolean | undefined): readonly string[] {
  return isReplay === true ? [...fields, "Idempotent-Replayed", "true"] : fields;
}

function reuseResponse(error: unknown): Response {
  if (error instanceof IdempotencyConflictError) {
    return errorResponse("idempotency_key_reused");
  }
  throw error;
}

/** What the header fields of a change or a removal say. */
interface Conditions {
  readonly hash: string | undefined;
  readonly preconditions: Preconditions;
}

const statusInNoneMatch = "If-None-Match takes entity tags, such as \"sold-3\", or *; a status alone is for If-Match.";

/** Without `If-Match` the response is 428 (RFC 6585, 3). */
function readConditions(request: PetRequest): Part<Conditions> {
  const { fields } = request;
  const hash = readHash(request);
  if (hash.kind === "refused") {
    return hash;
  }
  // It would let through every change.
  if (namesStatus(fields["if-none-match"]?.toString() ?? "")) {
    return { kind: "refused", response: errorResponse("invalid_precondition", [], statusInNoneMatch) };
  }
  const preconditions = readPreconditions(fields);
  if (preconditions === undefined) {
    return { kind: "refused", response: errorResponse("invalid_precondition") };
  }
  if (fields["if-match"] === undefined) {
    return { kind: "refused", response: errorResponse("precondition_required") };
  }
  return { kind: "valid", value: { hash: hash.value, preconditions } };
}

/**
 * `PATCH /pets/{petId}` (RFC 5789): 200 with the Pet once its change is on disk; the same 200 for an `Idempotency-Key`
 * sent again; 400; 404; 412 if the preconditions exclude the animal as it is; 422; 428.
 */
export function changePet(request: PetRequest, unread: Unread): MaybePromise<Outcome> {
  const { store, parameter, fields } = request;
  const conditions = readConditions(request);
  if (conditions.kind === "refused") {
    return conditions.response;
  }
  const { preconditions, hash } = conditions.value;
  return handleContent(unread, patchTypes, (content) => {
    const reading = readPetChange(content);
    if (reading.kind !== "valid") {
      return contentError(reading);
    }
    const id = readPetId(parameter);
    if (id === undefined) {
      return errorResponse("pet_not_found");
    }
    const change = reading.value;
    return store.change(id, change, preconditions, hash).then((outcome) => {
      if (outcome.kind !== "changed") {
        return refusal(outcome, fields);
      }
      const { json, version, isReplay } = outcome;
      const own = withReplay(["ETag", entityTag(statusIn(json), version)], isReplay);
      return { ...jsonResponse(200, json, own), effect: { pet: id, to: change.status } };
    }, reuseResponse);
  });
}

/** `DELETE /pets/{petId}`: 204 once the removal is on disk; otherwise the same responses as `changePet`. */
export function removePet(request: PetRequest): Response | Promise<Response> {
  const { store, parameter, fields } = request;
  const conditions = readConditions(request);
  if (conditions.kind === "refused") {
    return conditions.response;
  }
  const id = readPetId(parameter);
  if (id === undefined) {
    return errorResponse("pet_not_found");
  }
  const { preconditions, hash } = conditions.value;
  return store.remove(id, preconditions, hash).then((outcome) => {
    return outcome.kind === "removed"
      ? { ...jsonResponse(204, undefined, withReplay([], outcome.isReplay)), effect: { pet: id, to: "removed" } }
      : refusal(outcome, fields);
  }, reuseResponse);
}

function refusal(outcome: Refusal, fields: PetRequest["fields"]): Response {
  return outcome.kind === "absent"
    ? errorResponse("pet_not_found")
    : mismatch(entityTag(outcome.status, outcome.version), fields);
}

/** A 412 with the entity tag that the animal has. */
function mismatch(tag: string, fields: PetRequest["fields"]): Response {
  const excluding = fields["if-none-match"] === undefined ? "If-Match does" : "the preconditions do";
  return errorResponse("precondition_failed", ["ETag", tag], `The animal is ${tag}, which ${excluding} not allow.`);
}

/** getPet is deprecated since release 1.0.0, 2026-11-21 (RFC 9745, 2.1: Unix seconds as a structured Date). */
export const deprecationField = "@1795219200";
/** The date of removal (RFC 8594, 3). */
export const sunsetField = "Thu, 05 Dec 2030 00:00:00 GMT";

/** The fields of every response of getPet. The link names what replaces it (RFC 5829, 3.2). */
export function deprecationFields(linkBase: string): readonly string[] {
  const successor = `<${linkBase}/pets>; rel="successor-version"`;
  return ["Deprecation", deprecationField, "Sunset", sunsetField, "Link", successor];
}

/** `GET /pets/{petId}`: 200 with the Pet; 304 or 412 if the preconditions say so; 400; 404. */
export function getPet({ store, parameter, fields }: PetRequest): Response | Promise<Response> {
  const preconditions = readPreconditions(fields);
  if (preconditions === undefined) {
    return errorResponse("invalid_precondition");
  }
  const id = readPetId(parameter);
  return id === undefined
    ? errorResponse("pet_not_found")
    : whenReady(store.get(id), (pet) => petResponse(pet, preconditions, fields));
}

function petResponse(
  pet: PetVersion | undefined,
  preconditions: Preconditions,
  fields: PetRequest["fields"],
): Response {
  if (pet === undefined) {
    return errorResponse("pet_not_found");
  }
  const { json, version } = pet;
  const status = statusIn(json);
  const tag = entityTag(status, version);
  switch (outcomeFor(preconditions, status, version)) {
    case "failed":
      return mismatch(tag, fields);
    case "unchanged":
      return jsonResponse(304, undefined, ["ETag", tag]);
    case "proceed":
      return jsonResponse(200, json, ["ETag", tag]);
  }
}

/** `GET /limits`: 200 with the plan of the key, what it may do, and both quotas, this request included. */
export function getLimits({ key, quotas }: KeyedRequest): Response {
  const { minute, day } = quotas();
  const limits = { plan: key.plan.name, readOnly: key.isReadOnly, minute: quota(minute), day: quota(day) };
  return jsonResponse(200, JSON.stringify(limits));
}

/** `reset` is in Unix seconds, as in `X-RateLimit-Reset`. */
function quota({ limit, remaining, resetSeconds }: RateStatus): object {
  return { limit, remaining, reset: resetSeconds };
}
