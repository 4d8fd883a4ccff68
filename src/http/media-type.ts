/**
 * The content of a request: whether we take its type, and reading it under a byte bound.
 */

import type { IncomingMessage } from "node:http";

import type { ErrorCode } from "./errors.ts";

/**
 * Whether content of this type is JSON in UTF-8: `application/json`, charset absent or utf-8. No field at all is fine
 * too; other parameters mean nothing (RFC 8259, 11).
 *
 *     media-type = type "/" subtype *( OWS ";" OWS [ token "=" ( token / quoted-string ) ] )      RFC 9110, 8.3.1
 */
export function isJsonInUtf8(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === "application/json") {
    return true;
  }
  const type = /^application\/json[ \t]*(?=;|$)/i.exec(contentType)?.[0];
  if (type === undefined) {
    return false;
  }
  const parameter =
    /;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?[ \t]*/y;
  parameter.lastIndex = type.length;
  while (parameter.lastIndex < contentType.length) {
    const match = parameter.exec(contentType);
    if (match === null || (match[1]?.toLowerCase() === "charset" && !/^"?utf-8"?$/i.test(match[2] ?? ""))) {
      return false;
    }
  }
  return true;
}

/** RFC 9110, 8.4.1: `identity` is no coding. */
export function isCoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity";
}

/** Whether the request announces content, be it empty or chunked (RFC 9112, 6.3). */
export function announcesContent(incoming: IncomingMessage): boolean {
  const { headers } = incoming;
  return (
    headers["transfer-encoding"] !== undefined ||
    (headers["content-length"] !== undefined && headers["content-length"] !== "0")
  );
}

/** The declared length alone: a fast refusal, never the truth about what arrives. */
export function declaresMoreThan(incoming: IncomingMessage, bytesMax: number): boolean {
  const declared = incoming.headers["content-length"];
  return declared !== undefined && Number(declared) > bytesMax;
}

/** The content; the code of the error that ended it; or undefined where the client has gone. */
export type ContentOutcome = Uint8Array | ErrorCode | undefined;

/**
 * Reads the content, counting what arrives; the bound is inclusive. No promise: content nearly always comes with the
 * fields, and whatever is still pending while a group waits for the disk is paid for by every request in it.
 *
 * @param done is called once
 * @returns the function by which whoever watches the connection ends the reading
 */
export function readContent(
  incoming: IncomingMessage,
  bytesMax: number,
  done: (outcome: ContentOutcome) => void,
): (outcome: ContentOutcome) => void {
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  let isDone = false;
  const finish = (outcome: ContentOutcome): void => {
    if (!isDone) {
      isDone = true;
      done(outcome);
    }
  };
  // Where all of it came with the fields, the stream is never asked for bytes, and Node takes the request for one that
  // nobody reads: behind the answer it would drop the content once more, listeners and all.
  incoming.read(0);
  incoming.on("data", (chunk: Uint8Array) => {
    byteCount += chunk.length;
    if (byteCount > bytesMax) {
      incoming.removeAllListeners("data");
      finish("body_too_large");
    } else {
      chunks.push(chunk);
    }
  });
  incoming.on("end", () => {
    const [first] = chunks;
    finish(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, byteCount));
  });
  // Why the client has gone, Node says by "error" only to those who listen to it.
  incoming.on("close", () => finish(undefined));
  return finish;
}
