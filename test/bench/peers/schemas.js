/**
 * What the Fastify peers accept and return.
 */

const status = { type: "string", enum: ["available", "pending", "sold"] };
export const newPet = {
  type: "object",
  additionalProperties: false,
  required: ["name", "categoryId"],
  properties: { name: { type: "string", minLength: 1, maxLength: 255 }, categoryId: { type: "integer" }, status },
};
export const statusChange = {
  type: "object",
  additionalProperties: false,
  required: ["status"],
  properties: { status },
};
export const pet = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, categoryId: { type: "integer" }, status },
};
export const listQuery = {
  type: "object",
  additionalProperties: false,
  properties: {
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
    status,
    after: { type: "integer", minimum: 0, default: 0 },
  },
};
