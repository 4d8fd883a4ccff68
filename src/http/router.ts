/**
 * Request target -> route. Paths are compared exactly as they were sent: nothing is decoded, folded, collapsed or
 * resolved, so each resource has one name.
 */

export interface Route<Operation> {
  /** Below the base path; at most one `{parameter}`, as the last segment. */
  readonly pattern: string;
  /** By method. HEAD and OPTIONS are not listed: they follow from these. */
  readonly operations: Readonly<Record<string, Operation>>;
}

export interface Match<Operation> {
  readonly route: Route<Operation>;
  /** What stands in the place of `{parameter}`, never empty; "" where the pattern has none. */
  readonly parameter: string;
}

interface Entry<Operation> {
  readonly route: Route<Operation>;
  /** The whole path, or all of it before the parameter. */
  readonly literal: string;
  readonly hasParameter: boolean;
  readonly allow: string;
}

export class Router<Operation> {
  readonly #entries: readonly Entry<Operation>[];

  constructor(basePath: string, routes: readonly Route<Operation>[]) {
    this.#entries = routes.map((route) => {
      const brace = route.pattern.indexOf("{");
      return {
        route,
        literal: basePath + (brace === -1 ? route.pattern : route.pattern.slice(0, brace)),
        hasParameter: brace !== -1,
        allow: allowField(route),
      };
    });
  }

  /** @param path without the query */
  find(path: string): Match<Operation> | undefined {
    for (const { route, literal, hasParameter } of this.#entries) {
      if (!hasParameter) {
        if (path === literal) {
          return { route, parameter: "" };
        }
      } else if (path.length > literal.length && path.startsWith(literal) && !path.includes("/", literal.length)) {
        return { route, parameter: path.slice(literal.length) };
      }
    }
    return undefined;
  }

  /** The value of `Allow` for a route of this router (RFC 9110, 10.2.1). */
  allow(route: Route<Operation>): string {
    return this.#entries.find((entry) => entry.route === route)?.allow ?? "";
  }
}

function allowField(route: Route<unknown>): string {
  const methods = Object.keys(route.operations).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...methods, "OPTIONS"].join(", ");
}

/**
 * The path and query of a request target (RFC 9112, 3.2): origin-form as it stands, absolute-form without its scheme
 * and authority. Any other form is no path of ours and stays as it is.
 */
export function originForm(target: string): string {
  if (target.startsWith("/")) {
    return target;
  }
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (authority === undefined) {
    return target;
  }
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}
