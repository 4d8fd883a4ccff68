/**
 * Where a service stands inside somebody else's server: which part of a request's target is ours, and which prefix a
 * framework has cut off and links must get back.
 */

import type { IncomingMessage } from "node:http";

import { originForm } from "../http/router.ts";

export interface Place {
  /** Path and query, beginning with the base path. */
  readonly target: string;
  /** What stood before it when the client sent it; "" where nothing did. */
  readonly prefix: string;
}

/** Undefined outside the base path. Express and Connect keep the target that the client sent in `originalUrl`. */
export function locate(incoming: IncomingMessage & { originalUrl?: unknown }, basePath: string): Place | undefined {
  const url = originForm(incoming.url ?? "");
  const original = typeof incoming.originalUrl === "string" ? originForm(incoming.originalUrl) : url;
  if (isBelow(original, basePath)) {
    return { target: original, prefix: "" };
  }
  if (!isBelow(url, basePath)) {
    return undefined;
  }
  const prefix = original.endsWith(url) ? original.slice(0, -url.length) : "";
  // A prefix may hold what the client chose (`/:tenant`); nothing of it may end the link that it becomes part of.
  return { target: url, prefix: /^(\/[A-Za-z0-9._~%-]+)*$/.test(prefix) ? prefix : "" };
}

function isBelow(target: string, basePath: string): boolean {
  const next = target[basePath.length];
  return target.startsWith(basePath) && (next === undefined || next === "/" || next === "?");
}
