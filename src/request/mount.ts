/** Finds out where the service is mounted in an embedding server, from the targets of its requests. */

import type { IncomingMessage } from "node:http";

import { withoutSecrets } from "../base/redact-secrets.ts";
import { originForm } from "../http/message.ts";

/** The path of the API if no base address says otherwise. */
export const defaultBasePath = "/v1";

export interface Located {
  /** Path and query, beginning with the base path. */
  readonly target: string;
  /** The path that a framework has cut off before the target, which links need; "" if none. */
  readonly prefix: string;
}

/**
 * Returns undefined outside the base path. Express and Connect keep the client's target in `originalUrl` and cut the
 * prefix of the mount off `url`. Mounted at `/api`, a `url` of `/v1/pets` for `/api/v1/pets` has the prefix `/api`.
 * Mounted at `/v1`, `/pets` for `/v1/pets` has none, and `/v1/pets` for `/v1/v1/pets` has the prefix `/v1`.
 */
export function locate(incoming: IncomingMessage & { originalUrl?: unknown }, basePath: string): Located | undefined {
  const url = originForm(incoming.url ?? "");
  const original = typeof incoming.originalUrl === "string" ? originForm(incoming.originalUrl) : url;
  const endsWithUrl = original.endsWith(url);
  if (isBelow(original, basePath) && !(endsWithUrl && isBelow(url, basePath))) {
    return { target: original, prefix: "" };
  }
  if (!isBelow(url, basePath)) {
    return undefined;
  }
  return { target: url, prefix: endsWithUrl ? safePrefix(original.slice(0, -url.length)) : "" };
}

/**
 * Returns "" for a prefix that must not be in a link. A client may have chosen it (`/:tenant`), so it may have only the
 * characters of segments (RFC 3986, 3.3), and no key. An empty segment would make the link lead to another host.
 */
function safePrefix(prefix: string): string {
  return /^(\/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*$/.test(prefix) && withoutSecrets(prefix) === prefix ? prefix : "";
}

/** @param target with or without a query */
export function isBelow(target: string, basePath: string): boolean {
  const next = target[basePath.length];
  return target.startsWith(basePath) && (next === undefined || next === "/" || next === "?");
}
