/** The routes below the base path, the operation of each of their methods, and how a path finds its route. */

import type { MaybePromise } from "../base/when-ready.ts";
import type { Outcome, Unread } from "./content.ts";
import {
  changePet, createPet, deprecationFields, getLimits, getPet, type KeyedRequest, listPets, removePet,
} from "./handlers.ts";

export interface Operation {
  /** Reads the content only if the operation takes one. */
  readonly handle: (request: KeyedRequest, unread: Unread) => MaybePromise<Outcome>;
  /** The fields of every response of the operation: name, value, name, value, … */
  readonly fields?: (linkBase: string) => readonly string[];
}

export interface Route {
  /** The path below the base path. At most one `{parameter}`, as the last segment. */
  readonly pattern: string;
  /** By method. HEAD and OPTIONS are not listed: they follow from the others. */
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Metrics count all that a program mounts behind the guard as this one route, so that clients cannot add series. */
export const guardedRoute: Route = { pattern: "guard", operations: {} };

const routes: readonly Route[] = [
  { pattern: "/pets", operations: { GET: { handle: listPets }, POST: { handle: createPet } } },
  {
    pattern: "/pets/{petId}",
    operations: {
      GET: { handle: getPet, fields: deprecationFields },
      PATCH: { handle: changePet },
      DELETE: { handle: removePet },
    },
  },
  { pattern: "/limits", operations: { GET: { handle: getLimits } } },
];

export function operationOf({ operations }: Route, method: string): Operation | undefined {
  return operations[method === "HEAD" ? "GET" : method];
}

/** Whether the method is safe (RFC 9110, 9.2.1). */
export function isSafe(method: string): boolean {
  return ["GET", "HEAD", "OPTIONS", "TRACE"].includes(method);
}

export interface Match {
  readonly route: Route;
  /** The text at `{parameter}`, which is never empty; "" if the pattern has none. */
  readonly parameter: string;
  /** The value of `Allow` (RFC 9110, 10.2.1). */
  readonly allow: string;
}

/** Paths are compared exactly as sent: nothing is decoded, folded or resolved, so each resource has one name. */
export class Router {
  readonly #entries: readonly (Omit<Match, "parameter"> & { literal: string; hasParameter: boolean })[];
  /** The methods of all routes, in the form of `Allow`. */
  readonly methods: string;

  constructor(basePath: string) {
    this.#entries = routes.map((route) => {
      const [literal = "", parameter] = route.pattern.split("{");
      return { route, literal: basePath + literal, hasParameter: parameter !== undefined, allow: allowField(route) };
    });
    this.methods = [...new Set(this.#entries.flatMap(({ allow }) => allow.split(", ")))].join(", ");
  }

  /** @param path without the query */
  find(path: string): Match | undefined {
    for (const { route, literal, hasParameter, allow } of this.#entries) {
      if (path.startsWith(literal)) {
        const parameter = path.slice(literal.length);
        if (hasParameter ? parameter !== "" && !parameter.includes("/") : parameter === "") {
          return { route, parameter, allow };
        }
      }
    }
    return undefined;
  }
}

function allowField({ operations }: Route): string {
  const methods = Object.keys(operations).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...methods, "OPTIONS"].join(", ");
}
