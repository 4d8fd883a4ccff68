/**
 * The step of a request's way that gets its content: whether we take it at all, and then all of it, or the answer that
 * says why not. Only here a client is told to go on sending (RFC 9110, 10.1.1).
 */

import type { Exchange } from "./exchange.ts";
import { type Answer, refusal } from "./http/answer.ts";
import { declaresMoreThan, isCoded, isJsonInUtf8, readContent } from "./http/content.ts";
import { fixedLimits } from "./settings.ts";

/** Somebody before us has read the content, as a body parser does: it cannot be read again. */
export class ContentTakenError extends Error {
  override readonly name = "ContentTakenError";
  override readonly message =
    "Cannot read the content: another parser has read it before; mount the service ahead of it";
}

/**
 * Resolves to the content, to the answer that refuses it, or to undefined where the client has gone.
 *
 * @throws {ContentTakenError}
 */
export async function takeContent(exchange: Exchange): Promise<Uint8Array | Answer | undefined> {
  const { incoming } = exchange;
  if (!isJsonInUtf8(incoming.headers["content-type"])) {
    return refusal("unsupported_media_type");
  }
  if (isCoded(incoming.headers["content-encoding"])) {
    return refusal("unsupported_media_type", ["Accept-Encoding", "identity"]); // RFC 9110, 15.5.16
  }
  if (declaresMoreThan(incoming, fixedLimits.contentBytesMax)) {
    return refusal("body_too_large");
  }
  if (incoming.readableDidRead) {
    throw new ContentTakenError();
  }
  if (exchange.expectsContinue) {
    exchange.outgoing?.writeContinue();
  }
  const outcome = await readContent(incoming, fixedLimits.contentBytesMax, (damage) => {
    exchange.damage = damage;
  });
  switch (outcome.kind) {
    case "read":
      return outcome.content;
    case "too_large":
      return refusal("body_too_large");
    case "damaged":
      return refusal(outcome.code);
    case "gone":
      return undefined;
  }
}
