/**
 * createPet: `POST /pets`.
 */

import { decimal } from "../decimal.ts";
import { type Answer, answer, refusal } from "../http/response.ts";
import { decodeJson, JsonSyntaxError, type JsonValue, readJson } from "./json.ts";
import type { PetRequest } from "./pet-request.ts";
import { validateNewPet } from "./validate.ts";

/** 201 with the Pet once it is on disk; 400. */
export function createPet({ store, content, linkBase }: PetRequest): Answer | Promise<Answer> {
  let body: JsonValue;
  try {
    body = readJson(decodeJson(content));
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      return refusal("malformed_json", [], error.message);
    }
    throw error;
  }
  const validation = validateNewPet(body);
  if (validation.kind === "invalid") {
    return refusal("invalid_body", [], validation.message);
  }
  return store.add(validation.value).then(({ id, json }) => {
    return answer(201, json, ["Location", `${linkBase}/pets/${decimal(id)}`]);
  });
}
