/**
 * The step of a request's way that gets its content: whether we take it at all, and then all of it, or the answer that
 * says why not. Only here a client is told to go on sending (RFC 9110, 10.1.1).
 */

import { bounds } from "../http/bounds.ts";
import { declaresMoreThan, isCoded, isJsonInUtf8, readContent } from "../http/media-type.ts";
import { type Response, errorResponse } from "../http/response.ts";
import type { RequestContext } from "./context.ts";


/** Somebody before us has read the content, as a body parser does: it cannot be read again. */
export class ContentTakenError extends Error {
  override readonly name = "ContentTakenError";
  override readonly message =
    "Cannot read the content: another parser has read it before; mount the service ahead of it";
}

/**
 * Hands on the content, the answer that refuses it, or undefined where the client has gone.
 *
 * @param next is called once
 * @throws {ContentTakenError}
 */
export function takeContent(context: RequestContext, next: (taken: Uint8Array | Response | undefined) => void): void {
  const { incoming } = context;
  const refused = refuseContent(context);
  if (refused !== undefined) {
    next(refused);
    return;
  }
  if (incoming.readableDidRead) {
    throw new ContentTakenError();
  }
  if (context.arrival.expectsContinue) {
    context.outgoing?.writeContinue();
  }
  context.damage = readContent(incoming, bounds.contentBytesMax, (outcome) => {
    next(typeof outcome === "string" ? errorResponse(outcome) : outcome);
  });
}

/** What can be refused by its fields alone. */
function refuseContent({ incoming }: RequestContext): Response | undefined {
  if (!isJsonInUtf8(incoming.headers["content-type"])) {
    return errorResponse("unsupported_media_type");
  }
  if (isCoded(incoming.headers["content-encoding"])) {
    return errorResponse("unsupported_media_type", ["Accept-Encoding", "identity"]); // RFC 9110, 15.5.16
  }
  return declaresMoreThan(incoming, bounds.contentBytesMax) ? errorResponse("body_too_large") : undefined;
}
