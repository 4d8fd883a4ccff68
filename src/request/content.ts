/**
 * Reads the content of a request, after a check of the header fields. The only place that sends `100 Continue`
 * (RFC 9110, 10.1.1).
 */

import type { IncomingMessage } from "node:http";

import { bounds } from "../base/bounds.ts";
import { JoinedBytes } from "../base/joined-bytes.ts";
import { isCoded, isJsonInUtf8, patchTypes } from "../http/media-type.ts";
import { countField } from "../http/message.ts";
import { errorResponse, type Response } from "../http/response.ts";
import { type MaybePromise, whenSettled } from "../base/when-ready.ts";
import { quote } from "../pets/faults.ts";
import { ContentTakenError } from "./content-taken-error.ts";
import type { RequestContext } from "./context.ts";
import type { ContentHandler } from "./handlers.ts";

/** The client closed the connection: no response can be sent. */
export const clientGone: unique symbol = Symbol("client gone");

/** The embedding program responds, on a route of its own. */
export const letThrough: unique symbol = Symbol("let through");

/** RFC 5789, 3.1. */
const acceptPatch: readonly string[] = ["Accept-Patch", patchTypes.join(", ")];

/** How a request ends. The embedding program responds to the error. */
export type Outcome = Response | typeof clientGone | typeof letThrough | ContentTakenError;

/**
 * Returns the response that `handle` makes of the whole content, or the error response that says why it is not read.
 * @param types the media types that the operation takes
 * @throws {ContentTakenError}
 */
export function handleContent(
  context: RequestContext,
  types: readonly string[],
  handle: ContentHandler,
): MaybePromise<Outcome> {
  const { incoming, outgoing, arrival } = context;
  const error = checkFields(incoming, types);
  if (error !== undefined) {
    return error;
  }
  // If empty content was read before, only the end of the stream shows it.
  if (incoming.readableDidRead || incoming.readableEnded || incoming.readableEncoding !== null) {
    throw new ContentTakenError();
  }
  // Both can happen while the limiter decides.
  if (context.contentError !== undefined) {
    return errorResponse(context.contentError);
  }
  if (incoming.destroyed) {
    return clientGone;
  }
  if (arrival.expectsContinue) {
    outgoing?.writeContinue();
  }
  return collect(context, handle);
}

function checkFields({ headers, rawHeaders }: IncomingMessage, types: readonly string[]): Response | undefined {
  const { "content-type": type, "content-encoding": coding } = headers;
  const unsupported = (message: string, fields: readonly string[] = []): Response =>
    errorResponse("unsupported_media_type", types === patchTypes ? [...fields, ...acceptPatch] : fields, message);
  if (type !== undefined && !isJsonInUtf8(type, types)) {
    const origin = /^text\/plain;charset=utf-8$/i.test(type) ? ", which fetch sends with a text by itself" : "";
    return unsupported(`Content-Type must be ${types.join(" or ")}, in UTF-8, not ${quote(type)}${origin}.`);
  }
  if (type !== undefined && countField(rawHeaders, "content-type") > 1) {
    return unsupported("The request has more than one Content-Type field.");
  }
  if (coding !== undefined && isCoded(coding)) { // RFC 9110, 15.5.16
    const message = `The content must have no content coding, not ${quote(coding)}.`;
    return unsupported(message, ["Accept-Encoding", "identity"]);
  }
  const declaredBytes = Number(headers["content-length"] ?? 0);
  return declaredBytes > bounds.contentBytesMax ? errorResponse("body_too_large") : undefined;
}

/**
 * Counts the bytes that arrive; the bound is inclusive. The pieces are not collected in an array: V8 would soon make
 * such arrays in the old generation, where each keeps its request alive, so creates took 1.6 times the processor time.
 */
function collect(context: RequestContext, handle: ContentHandler): Promise<Outcome> {
  const { incoming } = context;
  return new Promise((resolve, reject) => {
    const content = new JoinedBytes();
    let isOver = false;
    const finish = (step: () => MaybePromise<Outcome>): void => {
      if (!isOver) {
        isOver = true;
        whenSettled(step, resolve, reject);
      }
    };
    context.onContentError = (code) => finish(() => errorResponse(code));
    incoming.read(0); // Otherwise Node drops content that came with the header fields once more after the response.
    incoming.on("data", (piece: Uint8Array) => {
      if (content.length + piece.length > bounds.contentBytesMax) {
        finish(() => errorResponse("body_too_large"));
      } else {
        content.append(piece);
      }
    });
    incoming.on("end", () => finish(() => handle(content.bytes)));
    incoming.on("close", () => finish(() => clientGone));
  });
}
