/**
 * The schemas and parameters of the OpenAPI description, made from the tables that validate and answer.
 *
 * The bounds of an int64 stand as `format: int64` and in words, not as `minimum` and `maximum`: neither is a JavaScript
 * number, so `JSON.stringify` would publish another bound than the one that holds.
 */

import { errorKinds } from "../http/errors.ts";
import { defaultPetStatus, int64Max, int64Min, nameCodePointsMax, petStatuses } from "../pets/pet.ts";
import { limitDefault, limitMax } from "../pets/list-query.ts";

/** What `JSON.stringify` writes exactly as it is. */
export type Json = string | number | boolean | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [member: string]: Json;
}

/** The characters of the Unicode property White_Space, as a part of a character class that every engine reads alike. */
const whiteSpace =
  "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

/** Somewhere a character that is not white space, nowhere U+0000 (contract, section 3). */
const namePattern = `^[^\\u0000]*[^\\u0000${whiteSpace}][^\\u0000]*$`;

const petStatusSchema: JsonObject = {
  type: "string",
  enum: petStatuses,
  description: "Availability of the animal.",
};

const newPetProperties: JsonObject = {
  name: {
    type: "string",
    minLength: 1,
    maxLength: nameCodePointsMax,
    pattern: namePattern,
    description:
      `1 to ${nameCodePointsMax} Unicode code points, at least one of them not white space, without U+0000 ` +
      "and without lone surrogates. Kept exactly as sent.",
  },
  categoryId: {
    type: "integer",
    format: "int64",
    description:
      `Identifier of the category. Any integer from ${int64Min} to ${int64Max}, exact to the last digit: read it ` +
      "with a parser that keeps 64-bit integers where yours are that large.",
  },
};

const newPetSchema: JsonObject = {
  type: "object",
  description: "An animal to be added. A member that is not named here is refused, `id` too.",
  required: ["name", "categoryId"],
  additionalProperties: false,
  properties: {
    ...newPetProperties,
    // A default beside the reference would make the member required in the types that openapi-typescript writes.
    status: {
      allOf: [{ $ref: "#/components/schemas/PetStatus" }, { default: defaultPetStatus }],
      description: `Availability of the animal; \`${defaultPetStatus}\` where it is left out.`,
    },
  },
  examples: [{ name: "Rex", categoryId: 5, status: "available" }],
};

const petSchema: JsonObject = {
  type: "object",
  description: "An animal of the catalogue.",
  required: ["id", "name", "categoryId", "status"],
  additionalProperties: false,
  properties: {
    id: {
      type: "integer",
      format: "int64",
      minimum: 1,
      description: "Given by the service: 1, 2, 3, … in the order of creation, never reused.",
    },
    ...newPetProperties,
    status: { $ref: "#/components/schemas/PetStatus" },
  },
  examples: [{ id: 1, name: "Rex", categoryId: 5, status: "available" }],
};

const errorSchema: JsonObject = {
  type: "object",
  description: "The content of every error response.",
  required: ["code", "message", "status"],
  additionalProperties: false,
  properties: {
    code: {
      type: "string",
      enum: Object.keys(errorKinds),
      description: "What went wrong, for programs. Each response lists the codes that it can carry.",
    },
    message: { type: "string", minLength: 1, description: "What went wrong, for people. Its wording may change." },
    status: { type: "integer", description: "The HTTP status code." },
  },
};

export const schemas: JsonObject = {
  PetStatus: petStatusSchema,
  NewPet: newPetSchema,
  Pet: petSchema,
  Error: errorSchema,
  Health: {
    type: "object",
    description: "Whether the service can do all its work.",
    required: ["status"],
    additionalProperties: false,
    properties: { status: { type: "string", enum: ["ok", "unavailable"] } },
  },
};

/** The query of listPets: nothing else may stand in it (contract, section 3). */
export const listParameters: readonly JsonObject[] = [
  {
    name: "limit",
    in: "query",
    description: "At most so many animals are returned. No sign, no leading zero, no fraction.",
    schema: { type: "integer", minimum: 1, maximum: limitMax, default: limitDefault },
    example: 2,
  },
  {
    name: "status",
    in: "query",
    description: "Only animals of this status.",
    schema: { $ref: "#/components/schemas/PetStatus" },
    example: "available",
  },
  {
    name: "after",
    in: "query",
    description:
      `Only animals with a greater id; an integer from 0 to ${int64Max}, whether or not it was given to an animal. ` +
      'Follow the `Link` with `rel="next"` rather than making it up.',
    schema: { type: "integer", format: "int64", minimum: 0 },
    example: 0,
  },
];

export const petIdParameter: JsonObject = {
  name: "petId",
  in: "path",
  required: true,
  description: "Identifier of the animal. Anything but the plain decimal of an animal's id is 404.",
  schema: { type: "integer", format: "int64" },
  example: 1,
};
