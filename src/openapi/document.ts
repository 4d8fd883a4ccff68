/**
 * The OpenAPI description of the service (contract, section 8), made from the tables that the code itself uses: codes
 * from http/errors.ts, the animal's bounds from pets/, quotas from limits/plans.ts.
 *
 * What is here is the frame: what the API is, where it is, how to authenticate, which codes and plans there are.
 */

import { bounds } from "../http/bounds.ts";
import { errorKinds } from "../http/errors.ts";
import { failuresPerMinute } from "../limits/addresses.ts";
import { banDurationMinMs, banDurationMaxMs, refusalCountMax } from "../limits/ban.ts";
import { publishedQuotas } from "../limits/plans.ts";
import { version } from "../version.ts";
import { headerComponents } from "./fields.ts";
import { pagePaths } from "./pages.ts";
import { apiPaths, otherPaths } from "./paths.ts";
import { responseComponents } from "./responses.ts";
import { type JsonObject, schemas } from "./schemas.ts";

export interface OpenApiDescription {
  readonly openapi: "3.1.0";
  readonly info: JsonObject;
  readonly servers: readonly JsonObject[];
  readonly security: readonly JsonObject[];
  readonly tags: readonly JsonObject[];
  readonly paths: JsonObject;
  readonly components: JsonObject;
  /** The responses to requests for none of the paths. */
  readonly "x-other-paths": JsonObject;
}

export interface DescribedAddresses {
  /** Public base address; undefined where the service was told none. */
  readonly baseUrl: string | undefined;
  /** Where the API is mounted, as "/v1"; the server's address where there is no base address. */
  readonly basePath: string;
  readonly stagingBaseUrl: string | undefined;
}

/** The description, as it is published: `JSON.stringify` of it is the page. */
export function describeApi(addresses: DescribedAddresses): OpenApiDescription {
  const { baseUrl, basePath, stagingBaseUrl } = addresses;
  const bases = [
    { url: baseUrl ?? basePath, description: "Production" },
    ...(stagingBaseUrl === undefined ? [] : [{ url: stagingBaseUrl, description: "Staging" }]),
  ];
  const roots = bases.map(({ url, description }) => ({
    url: url.startsWith("/") ? "/" : new URL(url).origin,
    description,
  }));
  return {
    openapi: "3.1.0",
    info: {
      title: "Animal Store",
      summary: "The catalogue of animals that a store offers.",
      version,
      description: aboutTheApi(),
      contact: { name: "Whoever runs this service" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: bases,
    security: [{ apiKey: [] }],
    tags: [
      { name: "pets", description: "The animals." },
      { name: "public pages", description: "At the server's root: no key, no rate limit." },
    ],
    paths: { ...apiPaths(), ...pagePaths(roots) },
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "`as_` and 43 letters and digits",
          description: "The API key, as `Authorization: Bearer <API_KEY>` (RFC 6750, 2.1).",
        },
      },
      schemas,
      responses: responseComponents(),
      headers: headerComponents(),
    },
    "x-other-paths": otherPaths(),
  };
}

/** What holds for all operations, as Markdown. */
function aboutTheApi(): string {
  const plans = Object.entries(publishedQuotas).map(
    ([name, { perMinute, perDay }]) => `| ${name} | ${perMinute} | ${perDay} |`,
  );
  const codes = Object.entries(errorKinds).map(
    ([code, { status, message }]) => `| ${status} | \`${code}\` | ${message.replaceAll("<", "\\<")} |`,
  );
  return [
    "List the animals of a store, add one, or fetch one. Every request but those for the public pages carries an API " +
      "key; without one, any path answers 401.",
    "## Requests that are no operation",
    "Another method on a known path is 405 (`x-other-methods` of the path), an unknown path is 404 (`x-other-paths` " +
      `of this description). A request target above ${bounds.targetBytesMax} bytes is 414; target and fields of ` +
      `more than ${bounds.fieldBytesMax} bytes together are 431.`,
    "## Rate limits",
    "A key has so many requests a minute and a day. Each window opens full, with its first request. A request " +
      "beyond either limit is 429: wait as long as `Retry-After` says. A key that is refused in " +
      `${refusalCountMax} different seconds, with no request served between, is banned for ` +
      `${banDurationMinMs / 60_000} ` +
      `minutes, and each further time for longer, up to ${banDurationMaxMs / 60_000} minutes. ` +
      `Requests without a valid key are counted by the client's address, ${failuresPerMinute} a minute.`,
    lines("| plan | a minute | a day |", "|---|---|---|", ...plans, "| enterprise | agreed | agreed |"),
    "## Errors",
    lines("| status | code | meaning |", "|---|---|---|", ...codes),
  ].join("\n\n");
}

function lines(...each: readonly string[]): string {
  return each.join("\n");
}
