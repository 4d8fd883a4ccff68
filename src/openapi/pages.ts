/**
 * The public pages in the OpenAPI description: at the server's root, without key and without rate fields (contract,
 * section 8).
 */

import { errorResponses, response, unreadableResponses } from "./responses.ts";
import type { JsonObject } from "./schemas.ts";

interface Page {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly responses: (isHead: boolean) => JsonObject;
}

const health: Page = {
  operationId: "getHealth",
  summary: "Ask whether the service works",
  description: "For load balancers and supervisors.",
  responses: (isHead) => ({
    200: healthResponse("The service can do all its work.", "ok", isHead),
    503: healthResponse("The store takes no animals any more, or the service is stopping.", "unavailable", isHead),
  }),
};

const description: Page = {
  operationId: "getDescription",
  summary: "Fetch this description",
  description: "The OpenAPI description of exactly what the service does.",
  responses: (isHead) => ({
    200: response({
      description: "This description.",
      content: {
        schema: {
          type: "object",
          required: ["openapi", "info", "paths"],
          properties: {
            openapi: { type: "string", const: "3.1.0" },
            info: { type: "object" },
            paths: { type: "object" },
          },
        },
      },
      isPublicPage: true,
      isHead,
    }),
  }),
};

function healthResponse(text: string, status: string, isHead: boolean): JsonObject {
  const schema = { allOf: [{ $ref: "#/components/schemas/Health" }, { properties: { status: { const: status } } }] };
  const content = { schema, examples: { [status]: { value: { status } } } };
  return response({ description: text, content, isPublicPage: true, isHead });
}

const options: Omit<Page, "operationId"> = {
  summary: "Ask for the methods",
  description: "The methods, in `Allow`.",
  responses: () => ({ 204: response({ description: "No content.", fields: ["Allow"], isPublicPage: true }) }),
};

function describePage(page: Page, isHead = false): JsonObject {
  return {
    operationId: page.operationId,
    summary: page.summary,
    description: isHead ? "Answers as `GET` does, without content." : page.description,
    tags: ["public pages"],
    security: [],
    // Errors found before anybody looks at the path are as the API's, rate fields included.
    responses: {
      ...page.responses(isHead),
      ...unreadableResponses(isHead),
      ...errorResponses(["malformed_request"], { isHead }),
    },
  };
}

function describePath(page: Page, name: string, servers: readonly JsonObject[]): JsonObject {
  return {
    servers,
    get: describePage(page),
    head: describePage({ ...page, operationId: `head${name}` }, true),
    options: describePage({ ...options, operationId: `options${name}` }),
    "x-other-methods": {
      responses: {
        ...unreadableResponses(false),
        ...errorResponses(["malformed_request"]),
        ...errorResponses(["method_not_allowed"], { isPublicPage: true }),
      },
    },
  };
}

/** @param servers where the root is, since the paths of the API are relative to the base address */
export function pagePaths(servers: readonly JsonObject[]): JsonObject {
  return {
    "/healthz": describePath(health, "Health", servers),
    "/openapi.json": describePath(description, "Description", servers),
  };
}
