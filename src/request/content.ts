/** Reads the content of a request, after a check of the header fields. */

import { bounds } from "../base/bounds.ts";
import { type MaybePromise, whenReady } from "../base/when-ready.ts";
import type { ContentTakenError } from "../http/content-taken-error.ts";
import { clientGone, type Exchange } from "../http/exchange.ts";
import { isCoded, isJsonInUtf8, patchTypes } from "../http/media-type.ts";
import { errorResponse, type Response } from "../http/response.ts";
import { quote } from "../pets/faults.ts";

/** Says that the embedding program responds, on a route of its own. */
export const letThrough: unique symbol = Symbol("let through");

/** RFC 5789, 3.1. */
const acceptPatch: readonly string[] = ["Accept-Patch", patchTypes.join(", ")];

/** How a request ends: if with an error, the embedding program responds to that. */
export type Outcome = Response | typeof clientGone | typeof letThrough | ContentTakenError;

/** A request whose content has not been read. */
export type Unread = Pick<Exchange, "headers" | "countField" | "readContent">;

/**
 * Returns the response that `handle` makes from the whole content, or the error response that says why it is not read.
 * @param types the media types that the operation takes
 * @throws {ContentTakenError}
 */
export function handleContent(
  unread: Unread,
  types: readonly string[],
  handle: (content: Uint8Array) => MaybePromise<Response>,
): MaybePromise<Outcome> {
  const error = checkFields(unread, types);
  if (error !== undefined) {
    return error;
  }
  return whenReady(unread.readContent(bounds.contentBytesMax), (content) => {
    if (content === clientGone) {
      return clientGone;
    }
    return typeof content === "string" ? errorResponse(content) : handle(content);
  });
}

function checkFields(unread: Unread, types: readonly string[]): Response | undefined {
  const { "content-type": type, "content-encoding": coding, "content-length": length = 0 } = unread.headers;
  const unsupported = (message: string, fields: readonly string[] = []): Response =>
    errorResponse("unsupported_media_type", types === patchTypes ? [...fields, ...acceptPatch] : fields, message);
  if (type !== undefined && !isJsonInUtf8(type, types)) {
    const origin = /^text\/plain;charset=utf-8$/i.test(type) ? ", which fetch sends with a text by itself" : "";
    return unsupported(`Content-Type must be ${types.join(" or ")}, in UTF-8, not ${quote(type)}${origin}.`);
  }
  if (type !== undefined && unread.countField("content-type") > 1) {
    return unsupported("The request has more than one Content-Type header.");
  }
  if (coding !== undefined && isCoded(coding)) { // RFC 9110, 15.5.16
    const message = `The body must have no content coding, not ${quote(coding)}.`;
    return unsupported(message, ["Accept-Encoding", "identity"]);
  }
  return Number(length) > bounds.contentBytesMax ? errorResponse("body_too_large") : undefined;
}
