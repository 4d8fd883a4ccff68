/**
 * Requests with `Upgrade`. The service offers no other protocol, so it ignores the field (RFC 9110, 7.8). But Node
 * drops the bytes that came in one packet after such a request. If they were a request, its client would take a later
 * response for its own. So the connection is kept only if no bytes were dropped.
 *
 * Closing every time would be simpler, but Java's HttpClient sends `Upgrade: h2c` with all its requests to `http:`,
 * and has half as many responses a second on new connections. What keeping costs: Node does not report damage in the
 * fields of the next request, so its response is the time-out's.
 */

import type { IncomingMessage } from "node:http";

import { announcesContent } from "./media-type.ts";

/** No request is shorter: `GET / HTTP/1.0` without its line ends, which some versions of Node accept without CR. */
const requestBytesMin = 14;

/**
 * Whether a request may have come after this one, and been dropped. White space is optional, so the length of a request
 * is not known exactly; but clients write one space after each colon, or none. As many bytes as there are fields are
 * taken for these spaces, unless they could be a whole request.
 *
 * @param startBytes the `bytesRead` of the socket at which this request began
 * @returns true also if its content is chunked
 */
export function mayBeFollowed(incoming: IncomingMessage, startBytes: number): boolean {
  const spareBytes = incoming.socket.bytesRead - startBytes - shortestBytes(incoming);
  const fieldCount = incoming.rawHeaders.length / 2;
  return spareBytes !== 0 && (spareBytes !== fieldCount || fieldCount >= requestBytesMin);
}

/** Calls `decide` when all of the request has been read, before its response can be sent whole. */
export function onceWhole(incoming: IncomingMessage, decide: () => void): void {
  if (announcesContent(incoming) && !incoming.complete) {
    incoming.once("end", decide);
  } else {
    decide();
  }
}

/** Of the request without optional white space; NaN if its content is chunked. */
function shortestBytes({ method = "", url = "", headers, rawHeaders }: IncomingMessage): number {
  let byteCount = `${method} ${url} HTTP/1.1\r\n\r\n`.length;
  for (const part of rawHeaders) {
    byteCount += part.length;
  }
  byteCount += (rawHeaders.length / 2) * ":\r\n".length;
  return headers["transfer-encoding"] === undefined ? byteCount + Number(headers["content-length"] ?? 0) : NaN;
}
