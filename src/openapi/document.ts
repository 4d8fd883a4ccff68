/**
 * The OpenAPI description of exactly the operations that a client calls, made from the tables that the code runs on.
 */

import { failuresPerMinute } from "../limits/address-limiter.ts";
import { banRule } from "../limits/ban.ts";
import { publishedQuotas } from "../limits/plans.ts";
import { paths } from "./paths.ts";
import { headerComponents, responseComponents } from "./responses.ts";
import { type JsonObject, parameterComponents, schemas } from "./schemas.ts";

export interface OpenApiDescription {
  readonly openapi: "3.1.0";
  readonly info: JsonObject;
  readonly servers: readonly JsonObject[];
  readonly security: readonly JsonObject[];
  readonly tags: readonly JsonObject[];
  readonly paths: JsonObject;
  readonly components: JsonObject;
}

export interface DescribedService {
  /** Public base address; undefined if the service has none. */
  readonly baseUrl: string | undefined;
  /** Where the API is mounted, such as "/v1"; the server's address if there is no base address. */
  readonly basePath: string;
  readonly stagingBaseUrl: string | undefined;
}

/** The version of the interface, not of the program: it changes only if existing clients would break. */
const interfaceVersion = "1.0.0";

export function describeApi(service: DescribedService): OpenApiDescription {
  const { baseUrl, basePath, stagingBaseUrl } = service;
  const staging = stagingBaseUrl === undefined ? [] : [{ url: stagingBaseUrl, description: "Staging" }];
  return {
    openapi: "3.1.0",
    info: {
      title: "Animal Store",
      version: interfaceVersion,
      description: introduction(),
      contact: { name: "The operator of this service" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: baseUrl ?? basePath, description: "This service" }, ...staging],
    security: [{ apiKey: [] }],
    tags: [
      { name: "animals", description: "List, add, fetch, change and remove animals." },
      { name: "limits", description: "What is left of the key's quotas." },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "as_ and 43 letters or digits",
          description: "Send the API key with every request: `Authorization: Bearer <API_KEY>` (RFC 6750, 2.1).",
        },
      },
      schemas,
      parameters: parameterComponents,
      responses: responseComponents,
      headers: headerComponents,
    },
  };
}

/** The introduction of the description, as Markdown. */
function introduction(): string {
  const plans = Object.entries(publishedQuotas).map(
    ([name, { perMinute, perDay }]) => `| ${name} | ${perMinute} | ${perDay} |`,
  );
  const { refusalCount, durationMinMs, durationMaxMs } = banRule;
  return [
    "List the animals of a store, add, fetch, change or remove one. Every request needs an API key.",
    "## Errors",
    "Every error response has the same three properties: `code` for programs, `message` for people, and `status`. An " +
      "unknown path is 404 `route_not_found`, a method that a path does not support is 405 `method_not_allowed`. " +
      "Without a valid key both are 401.",
    "## Later releases",
    "A later release may add properties to responses, and error codes. Ignore a property that you do not know, and " +
      "treat an unknown code as its status. Requests may have no other properties than those described.",
    "## Rate limits",
    "A plan limits the requests of a key per minute and per day. A window opens with its first request, and the " +
      "quota resets all at once when the window ends. Every authenticated request counts, except a 429.",
    ["| plan | per minute | per day |", "|---|---|---|", ...plans, "| enterprise | custom | custom |"].join("\n"),
    "A request beyond a limit is 429: wait as long as `Retry-After` says. A key that " +
      `continues instead, in ${refusalCount} different seconds, is banned for ${durationMinMs / 60_000} minutes; ` +
      `repeated bans last up to ${durationMaxMs / 60_000}. Requests without a valid key count against the client's ` +
      `address, ${failuresPerMinute} per minute.`,
  ].join("\n\n");
}
