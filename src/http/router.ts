/**
 * Request target -> route. Paths are compared exactly as sent. Nothing is decoded, folded, collapsed or resolved, so
 * each resource has one name.
 */

export interface RoutePattern<Operation> {
  /** Below the base path. At most one `{parameter}`, as the last segment. */
  readonly pattern: string;
  /** By method. HEAD and OPTIONS are not listed: they follow from the others. */
  readonly operations: Readonly<Record<string, Operation>>;
}

export interface Match<Route> {
  readonly route: Route;
  /** The text in the place of `{parameter}`, never empty; "" if the pattern has none. */
  readonly parameter: string;
  /** The value of `Allow` (RFC 9110, 10.2.1). */
  readonly allow: string;
}

interface Entry<Route> {
  readonly route: Route;
  /** The whole path, or all of it before the parameter. */
  readonly literal: string;
  readonly hasParameter: boolean;
  readonly allow: string;
}

export class Router<Route extends RoutePattern<unknown>> {
  readonly #entries: readonly Entry<Route>[];
  /** Those of all routes, as in `Allow`. */
  readonly methods: string;

  constructor(basePath: string, routes: readonly Route[]) {
    this.#entries = routes.map((route) => {
      const brace = route.pattern.indexOf("{");
      return {
        route,
        literal: basePath + (brace === -1 ? route.pattern : route.pattern.slice(0, brace)),
        hasParameter: brace !== -1,
        allow: allowField(route),
      };
    });
    this.methods = [...new Set(this.#entries.flatMap(({ allow }) => allow.split(", ")))].join(", ");
  }

  /** @param path without the query */
  find(path: string): Match<Route> | undefined {
    for (const { route, literal, hasParameter, allow } of this.#entries) {
      if (!hasParameter) {
        if (path === literal) {
          return { route, parameter: "", allow };
        }
      } else if (path.length > literal.length && path.startsWith(literal) && !path.includes("/", literal.length)) {
        return { route, parameter: path.slice(literal.length), allow };
      }
    }
    return undefined;
  }
}

function allowField(route: RoutePattern<unknown>): string {
  const methods = Object.keys(route.operations).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...methods, "OPTIONS"].join(", ");
}

/**
 * The path and query of a request target (RFC 9112, 3.2): an origin-form unchanged, an absolute-form without scheme and
 * authority. Any other form names no path of this service and is returned unchanged. So is an absolute-form whose
 * authority is empty or has user information: it is invalid (RFC 9110, 4.2.1 and 4.2.4).
 */
export function originForm(target: string): string {
  if (target.startsWith("/")) {
    return target;
  }
  const authority = /^https?:\/\/[^/?#@]+(?![^/?#])/i.exec(target)?.[0];
  if (authority === undefined) {
    return target;
  }
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}
