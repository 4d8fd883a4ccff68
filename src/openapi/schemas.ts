/** The schemas and parameters of the OpenAPI description. */

import { errorTable } from "../http/errors.ts";
import { planNames } from "../limits/plans.ts";
import { idempotencyHours, idempotencyKeyCharactersMax } from "../pets/idempotency-key.ts";
import { listParameters } from "../pets/list-query.ts";
import { int64Max, int64Min, type Member, members } from "../pets/members.ts";
import { defaultPetStatus, petStatuses } from "../pets/pet.ts";

/** What `JSON.stringify` writes exactly as it is. */
export type Json = string | number | boolean | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [member: string]: Json;
}

const requiredMembers = members.filter(({ isOptional }) => isOptional !== true);

function examplesOf(chosen: readonly Member[], index: 0 | 1): JsonObject {
  return Object.fromEntries(chosen.map(({ name, examples }) => [name, examples[index]]));
}

export const newRex: JsonObject = examplesOf(requiredMembers, 0);
export const newMisty: JsonObject = { ...examplesOf(members, 1), status: "sold" };
export const rex: JsonObject = { id: 1, ...newRex, status: "available" };

/**
 * An int64: this format says its range. A `minimum` or `maximum` would be wrong in every text that is made of the
 * object: no number of JavaScript is 2^63 - 1, and -2^63 is written with its last digits rounded.
 */
export function int64(range: { readonly minimum?: number } = {}): JsonObject {
  return { type: "integer", format: "int64", ...range };
}

/** An object in a response: a later release may add members. All are required unless `required` names some. */
function objectOf(
  description: string,
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject {
  return { type: "object", description, ...(required.length > 0 && { required }), properties };
}

/** An object in a request. The service refuses any other member. */
function requestOf(...parts: Parameters<typeof objectOf>): JsonObject {
  return { ...objectOf(...parts), additionalProperties: false };
}

/** The characters of the Unicode property White_Space, for a character class that every regex engine reads alike. */
const whiteSpace =
  "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const status: JsonObject = { $ref: "#/components/schemas/PetStatus" };
const quota: JsonObject = { $ref: "#/components/schemas/Quota" };
const memberSchemas: JsonObject = Object.fromEntries(
  members.map(({ name, schema }) => [name, { $ref: `#/components/schemas/${schema}` }]),
);
const required: readonly string[] = requiredMembers.map(({ name }) => name);

function schemaOf(member: Member): JsonObject {
  const { kind, description } = member;
  if (kind === "integer") {
    const range = `an integer from ${int64Min} to ${int64Max}, exact to the last digit`;
    const warning = "Parsers that read numbers as doubles round those beyond 2^53.";
    return { ...int64(), description: `${description}: ${range}. ${warning}` };
  }
  return {
    type: "string",
    minLength: 1,
    maxLength: member.codePointsMax,
    pattern: `^[^\\u0000]*[^\\u0000${whiteSpace}][^\\u0000]*$`,
    description:
      `${description}: 1 to ${member.codePointsMax} Unicode code points, not only white space, without U+0000 and ` +
      "lone surrogates. Stored exactly as sent.",
  };
}

const id: JsonObject = {
  ...int64({ minimum: 1 }),
  description:
    "Assigned by the service: 1, 2, 3, … in the order of creation, each once. After an older backup is restored, " +
    "ids above those in it are assigned again.",
};

const tag = '(W/)?"[!#-~\\x80-\\xff]*"';
const state = `(${petStatuses.join("|")})-[1-9][0-9]{0,9}`;

/** What `readPreconditions` takes: `*`, a bare name, or a list that may have empty elements, but has a tag. */
function tagsSchema(name: string): JsonObject {
  return { type: "string", pattern: `^(\\*|${name}|[ \\t,]*${tag}([ \\t]*,[ \\t,]*${tag})*[ \\t,]*)$` };
}

/** With a `default` of its own, the member would be required in the types that openapi-typescript writes. */
const newStatus: JsonObject = {
  allOf: [{ ...status, default: defaultPetStatus }],
  description: `\`${defaultPetStatus}\` by default.`,
};

export const schemas: JsonObject = {
  PetStatus: { type: "string", enum: petStatuses, description: "The availability of the animal." },
  ...Object.fromEntries(members.map((member) => [member.schema, schemaOf(member)])),
  NewPet: requestOf(
    "An animal to add. Other properties are refused, `id` too.",
    { ...memberSchemas, status: newStatus },
    required,
  ),
  PetChange: {
    ...requestOf("What changes. Other properties are refused, `id` too.", { ...memberSchemas, status }, []),
    minProperties: 1,
  },
  Pet: {
    ...objectOf("An animal of the catalogue.", { id, ...memberSchemas, status }, ["id", ...required, "status"]),
    examples: [rex],
  },
  Limits: objectOf("The key and what is left of both quotas.", {
    plan: { type: "string", enum: planNames, description: "The plan of the key." },
    readOnly: { type: "boolean", description: "Whether the key may only list and fetch." },
    minute: quota,
    day: quota,
  }),
  Quota: objectOf("The quota of one window.", {
    limit: { type: "integer", minimum: 1, description: "Requests per window." },
    remaining: { type: "integer", minimum: 0, description: "Requests left in this window." },
    reset: { ...int64({ minimum: 0 }), description: "When the quota is full again, in Unix seconds." },
  }),
  Error: objectOf("The body of every error response.", {
    code: {
      type: "string",
      enum: Object.keys(errorTable),
      description: "What went wrong, for programs. Each response lists the codes it can have.",
    },
    message: { type: "string", minLength: 1, description: "What went wrong, for people. The wording may change." },
    status: { type: "integer", description: "The HTTP status code." },
  }),
};

/** The query of listPets; any other parameter is refused. */
export const queryParameters: readonly JsonObject[] = listParameters.map(({ name, description, schema, example }) => {
  return { name, in: "query", description, schema, example };
});

const keyCharacters = `{1,${idempotencyKeyCharactersMax}}`;

/** A bare word, or a quoted one in which quotation marks and backslashes are escaped. */
const idempotencyKeyPattern = `^([!#-~]${keyCharacters}|"([!#-\\[\\]-~]|\\\\["\\\\])${keyCharacters}")$`;

const idempotencyKey: JsonObject = {
  name: "Idempotency-Key",
  in: "header",
  description:
    `Makes a retry safe. Choose a new value for each animal, change or removal: 1 to ${idempotencyKeyCharactersMax} ` +
    "visible ASCII characters, in quotation marks or not (draft-ietf-httpapi-idempotency-key-header). Sent again " +
    `with the same body within ${idempotencyHours} hours, it returns the same response and stores nothing.`,
  // No example: tools would send it with the example of each body, and the second one would be refused.
  schema: { type: "string", pattern: idempotencyKeyPattern },
};

const ifMatch: JsonObject = {
  name: "If-Match",
  in: "header",
  description:
    "The entity tags that the animal may have now (RFC 9110, 13.1.1): a list, or `*` for any. An animal's tag is its " +
    'status and its version, such as `"pending-7"`, and no other state of it ever has the same. A status alone, such ' +
    'as `"available"`, stands for every version with it.',
  schema: tagsSchema(`(${petStatuses.join("|")})(-[1-9][0-9]{0,9})?`),
  example: '"available"',
};

const ifNoneMatch: JsonObject = {
  name: "If-None-Match",
  in: "header",
  description:
    "The entity tags that it may not have (RFC 9110, 13.1.2). A status alone is none: a change or a removal with one " +
    "is refused.",
  schema: tagsSchema(state),
  example: '"sold-3"',
};

const petId: JsonObject = {
  name: "petId",
  in: "path",
  required: true,
  description: "The id of the animal. Everything else is 404.",
  schema: int64({ minimum: 1 }),
  example: 1,
};

/** The parameters that several operations have. */
export const parameterComponents: JsonObject = {
  petId,
  "Idempotency-Key": idempotencyKey,
  "If-Match": ifMatch,
  "If-Match-required": { ...ifMatch, required: true },
  "If-None-Match": ifNoneMatch,
};

export function parameter(name: string): JsonObject {
  return { $ref: `#/components/parameters/${name}` };
}
