/** The operations of the OpenAPI description, by path, each with every response that it can give. */

import { bounds } from "../base/bounds.ts";
import type { ErrorCode } from "../http/errors.ts";
import { patchTypes } from "../http/media-type.ts";
import { publishedQuotas } from "../limits/plans.ts";
import { limitMax } from "../pets/list-query.ts";
import { sunsetField } from "../request/handlers.ts";
import { errorResponse, errorResponses, response } from "./responses.ts";
import { type JsonObject, newMisty, newRex, parameter, queryParameters, rex } from "./schemas.ts";

const sunsetDate = new Date(sunsetField).toISOString().slice(0, 10);

/** The fields of every response of getPet. */
const deprecationFields: readonly string[] = ["Deprecation", "Sunset", "Link-successor"];

const misty: JsonObject = { id: 2, ...newMisty };
const petSchema: JsonObject = { $ref: "#/components/schemas/Pet" };
const petContent: JsonObject = { schema: petSchema, examples: { rex: { value: rex } } };
const reserved: JsonObject = { ...rex, status: "pending" };
const reservedContent: JsonObject = { schema: petSchema, examples: { reserved: { value: reserved } } };

const petsContent: JsonObject = {
  schema: { type: "array", maxItems: limitMax, items: petSchema },
  examples: { page: { summary: "`limit=2`", value: [rex, misty] }, none: { summary: "No match", value: [] } },
};

const limitsExample: JsonObject = {
  plan: "free",
  readOnly: false,
  minute: { limit: publishedQuotas.free.perMinute, remaining: 59, reset: 1795262460 },
  day: { limit: publishedQuotas.free.perDay, remaining: 999, reset: 1795348800 },
};

const newPetContent: JsonObject = {
  schema: { $ref: "#/components/schemas/NewPet" },
  examples: {
    required: { summary: "Required properties", value: newRex },
    all: { summary: "All properties", value: newMisty },
  },
};

const changeContent: JsonObject = {
  schema: { $ref: "#/components/schemas/PetChange" },
  examples: { reserve: { value: { status: "pending" } }, correct: { value: { name: "Rexi", categoryId: 7 } } },
};

const listPets: JsonObject = {
  operationId: "listPets",
  summary: "List animals",
  description:
    "Returns a page of animals, ascending by `id`. If more match, `Link` leads to the next page: following it visits " +
    "every animal that existed at the start, keeps what the filter asks for and is not removed meanwhile, exactly " +
    "once.",
  tags: ["animals"],
  parameters: queryParameters,
  responses: {
    200: response("The animals.", petsContent, ["Link-next"]),
    ...errorResponses(["invalid_parameter"]),
  },
};

/** The errors of an operation that stores something. */
const writeErrors: readonly ErrorCode[] = [
  "insufficient_scope", "invalid_idempotency_key", "idempotency_key_reused", "outcome_unknown",
];
const contentErrors: readonly ErrorCode[] = [
  "malformed_json", "invalid_body", "body_too_large", "unsupported_media_type",
];
const conditionErrors: readonly ErrorCode[] = [
  "invalid_precondition", "pet_not_found", "precondition_failed", "precondition_required",
];

const createPet: JsonObject = {
  operationId: "createPet",
  summary: "Add an animal",
  description:
    "Responds once the animal is on disk: neither a crash nor a loss of power can undo a 201. With an " +
    "`Idempotency-Key` it is always right to send the request again, also after a broken connection or " +
    "`outcome_unknown`.",
  tags: ["animals"],
  parameters: [parameter("Idempotency-Key")],
  requestBody: {
    required: true,
    description: `At most ${bounds.contentBytesMax} bytes of UTF-8.`,
    content: { "application/json": newPetContent },
  },
  responses: {
    201: response("The new animal.", petContent, ["Location", "ETag", "Idempotent-Replayed"]),
    ...errorResponses([...contentErrors, ...writeErrors]),
  },
};

const getPet: JsonObject = {
  operationId: "getPet",
  summary: "Fetch an animal",
  description:
    `Deprecated: removal is scheduled for ${sunsetDate}. In place of \`GET /pets/42\` send ` +
    "`GET /pets?after=41&limit=1`: the list begins with animal 42, if it exists. In place of fetching animals to see " +
    "their status, send `GET /pets` with the `status` filter.",
  tags: ["animals"],
  deprecated: true,
  "x-deprecated-sunset": sunsetDate,
  parameters: [parameter("petId"), parameter("If-None-Match"), parameter("If-Match")],
  responses: {
    200: response("The animal.", petContent, ["ETag", ...deprecationFields]),
    304: response("The animal has a tag that `If-None-Match` names.", undefined, ["ETag", ...deprecationFields]),
    ...errorResponses(["invalid_precondition", "pet_not_found", "precondition_failed"], deprecationFields),
  },
};

const conditionalParameters: readonly JsonObject[] = [
  parameter("petId"), parameter("If-Match-required"), parameter("If-None-Match"), parameter("Idempotency-Key"),
];

const changePet: JsonObject = {
  operationId: "changePet",
  summary: "Change an animal",
  description:
    "Reserves, sells, releases or corrects an animal whose tag `If-Match` names. Of many clients that send " +
    '`If-Match: "available"` at once, one gets 200, the others get 412. Who reserves an animal and sells it with the ' +
    "`ETag` of that response sells no reservation but their own. Responds once the change is on disk.",
  tags: ["animals"],
  parameters: conditionalParameters,
  requestBody: {
    required: true,
    content: Object.fromEntries(patchTypes.map((type) => [type, changeContent])),
  },
  responses: {
    200: response("The animal as it is then.", reservedContent, ["ETag", "Idempotent-Replayed"]),
    ...errorResponses([...contentErrors, ...writeErrors, ...conditionErrors]),
    415: errorResponse(["unsupported_media_type"], 415, ["Accept-Patch"]),
  },
};

const removePet: JsonObject = {
  operationId: "removePet",
  summary: "Remove an animal",
  description:
    "Takes back a mistake: removes an animal whose tag `If-Match` names, for good. Then it is in no " +
    "list, and its `id` is never given again. Responds once the removal is on disk. Proxies and clients may send a " +
    "`DELETE` again by themselves: a 404 after one's own means that the animal is removed. With an `Idempotency-Key` " +
    "it is 204 again.",
  tags: ["animals"],
  parameters: conditionalParameters,
  responses: {
    204: response("The animal is removed.", undefined, ["Idempotent-Replayed"]),
    ...errorResponses([...writeErrors, ...conditionErrors]),
  },
};

const getLimits: JsonObject = {
  operationId: "getLimits",
  summary: "Show the quotas of the key",
  description:
    "Returns the plan and what is left of both quotas; this request counts. The `X-RateLimit-*` headers show only " +
    "the quota with fewer requests left.",
  tags: ["limits"],
  responses: {
    200: response("The plan and the quotas.", {
      schema: { $ref: "#/components/schemas/Limits" },
      examples: { free: { value: limitsExample } },
    }),
    ...errorResponses(),
  },
};

export const paths: JsonObject = {
  "/pets": { get: listPets, post: createPet },
  "/pets/{petId}": { get: getPet, patch: changePet, delete: removePet },
  "/limits": { get: getLimits },
};
