/**
 * The paths of the OpenAPI description: each operation that the service has, with every response it can give.
 *
 * Two kinds of response belong to no operation: those to another method on a known path, and those to a path that the
 * service does not know. They stand in `x-other-methods` of the path and in `x-other-paths` of the description.
 */

import { bounds } from "../http/bounds.ts";
import type { ErrorCode } from "../http/errors.ts";
import { sunsetField } from "../pets/get.ts";
import { limitMax } from "../pets/list-query.ts";
import {
  errorResponses,
  refusedResponses,
  response,
  type ResponseShape,
  retirementFields,
  unreadableResponses,
} from "./responses.ts";
import { type JsonObject, listParameters, petIdParameter } from "./schemas.ts";

/** As `x-deprecated-sunset` has it: the date alone. */
const sunsetDate = new Date(sunsetField).toISOString().slice(0, 10);

const rex = { id: 1, name: "Rex", categoryId: 5, status: "available" };
const misty = { id: 2, name: "Misty", categoryId: 7, status: "sold" };

const petContent: JsonObject = {
  schema: { $ref: "#/components/schemas/Pet" },
  examples: { rex: { value: rex } },
};

const petsContent: JsonObject = {
  schema: { type: "array", maxItems: limitMax, items: { $ref: "#/components/schemas/Pet" } },
  examples: { page: { summary: "`limit=2`", value: [rex, misty] }, none: { summary: "No match", value: [] } },
};

const newPetBody: JsonObject = {
  required: true,
  description: `UTF-8, at most ${bounds.contentBytesMax} bytes, without a content coding.`,
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/NewPet" },
      examples: {
        least: { summary: "What is needed", value: { name: "Rex", categoryId: 5 } },
        all: { summary: "All members", value: { name: "Misty", categoryId: 7, status: "sold" } },
      },
    },
  },
};

const preflightFields: readonly string[] = [
  "Access-Control-Allow-Methods",
  "Access-Control-Allow-Headers",
  "Access-Control-Max-Age",
];

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly isHead?: boolean;
  readonly success: JsonObject;
  /** Beyond those that every operation can give. */
  readonly codes: readonly ErrorCode[];
  /** Fields of the answers that are given once the route is known. */
  readonly routeFields?: readonly string[];
  readonly members?: JsonObject;
}

function describeOperation(operation: Operation): JsonObject {
  const { operationId, summary, description, success, codes, routeFields = [], members } = operation;
  const isHead = operation.isHead === true;
  const responses = {
    ...success,
    ...unreadableResponses(isHead),
    ...refusedResponses(isHead),
    ...errorResponses(["malformed_request", ...codes], { isHead, routeFields }),
  };
  return { operationId, summary, description, tags: ["pets"], ...members, responses };
}

/** The same operation for HEAD: the same statuses and fields, without content (RFC 9110, 9.3.2). */
function headOf(operation: Operation, operationId: string, success: JsonObject): JsonObject {
  const description = "Answers as `GET` does, without content.";
  return describeOperation({ ...operation, operationId, success, description, isHead: true });
}

function optionsOf(operationId: string, routeFields: readonly string[]): JsonObject {
  const shape: ResponseShape = {
    description: "The methods, in `Allow`; for a preflight in `Access-Control-Allow-Methods` (Fetch Standard, 3.3).",
    fields: preflightFields,
    optionalFields: ["Allow", ...routeFields],
  };
  return describeOperation({
    operationId,
    summary: "Ask for the methods",
    description:
      "A preflight from an allowed origin needs no key and takes no token; it shows the bucket of the address.",
    success: { 204: response(shape) },
    codes: [],
    // Either with a key or, from an allowed origin, without.
    members: { security: [{ apiKey: [] }, {}] },
  });
}

/** Another method on a known path: no operation of OpenAPI's can carry these responses. */
function otherMethods(routeFields: readonly string[]): JsonObject {
  const responses = errorResponses(["malformed_request", "method_not_allowed"], { routeFields });
  return { responses: { ...unreadableResponses(false), ...refusedResponses(false), ...responses } };
}

const listPets: Operation = {
  operationId: "listPets",
  summary: "List animals",
  description:
    "A page of the animals, ascending by `id`. Where more match, `Link` leads to the next page; following it visits " +
    "every animal that existed at the start exactly once. A query parameter that is unknown, empty or repeated is " +
    "refused.",
  success: { 200: response({ description: "The animals.", content: petsContent, fields: ["Link-next"] }) },
  codes: ["invalid_parameter", "internal_error", "storage_unavailable"],
  members: { parameters: listParameters },
};

const createPet: Operation = {
  operationId: "createPet",
  summary: "Add an animal",
  description: "Answered only when the animal is on disk.",
  success: {
    201: response({ description: "The created animal.", content: petContent, fields: ["Location"] }),
  },
  codes: [
    "malformed_json",
    "invalid_body",
    "body_too_large",
    "unsupported_media_type",
    "internal_error",
    "storage_unavailable",
    "outcome_unknown",
  ],
  members: { requestBody: newPetBody },
};

const getPet: Operation = {
  operationId: "getPet",
  summary: "Fetch one animal",
  description:
    `Deprecated, and scheduled for removal on ${sunsetDate}. Use \`GET /pets\` with the ` +
    "`status` filter; one animal is `GET /pets?after=ID-1&limit=1`.",
  success: { 200: response({ description: "The animal.", content: petContent, fields: retirementFields }) },
  codes: ["pet_not_found", "internal_error", "storage_unavailable"],
  routeFields: retirementFields,
  members: { deprecated: true, "x-deprecated-sunset": sunsetDate },
};

/** The paths of the API, relative to the base address. */
export function apiPaths(): JsonObject {
  const headPetsSuccess = response({ description: "As `GET`.", isHead: true, fields: ["Link-next"] });
  const headPetSuccess = response({ description: "As `GET`.", isHead: true, fields: retirementFields });
  return {
    "/pets": {
      get: describeOperation(listPets),
      head: headOf(listPets, "headPets", { 200: headPetsSuccess }),
      post: describeOperation(createPet),
      options: optionsOf("optionsPets", []),
      "x-other-methods": otherMethods([]),
    },
    "/pets/{petId}": {
      parameters: [petIdParameter],
      get: describeOperation(getPet),
      head: headOf(getPet, "headPet", { 200: headPetSuccess }),
      options: optionsOf("optionsPet", retirementFields),
      "x-other-methods": otherMethods(retirementFields),
    },
  };
}

/** What any request gets that is for none of the paths. A preflight is not told that there is nothing. */
export function otherPaths(): JsonObject {
  const preflight = response({ description: "To a preflight from an allowed origin.", fields: preflightFields });
  const responses = errorResponses(["malformed_request", "route_not_found"]);
  return { responses: { 204: preflight, ...unreadableResponses(false), ...refusedResponses(false), ...responses } };
}
