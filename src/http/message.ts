/**
 * Faults of a message that Node accepts, or would reject without content in the response.
 *
 * After such a fault it is uncertain where the message ends and the next request begins. So the connection is closed,
 * and nothing that follows on it is read as a request (RFC 9112, 11.2).
 */

import { type IncomingMessage, METHODS } from "node:http";

import { isHost } from "./host.ts";

/** Counts two fields that a request may have only once: Node keeps the first of several, and drops the others. */
export function countFields(rawHeaders: readonly string[]): { hostCount: number; authorizationCount: number } {
  let hostCount = 0;
  let authorizationCount = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") {
      hostCount++;
    } else if (name.length === 13 && name.toLowerCase() === "authorization") {
      authorizationCount++;
    }
  }
  return { hostCount, authorizationCount };
}

/**
 * Node's parser accepts RTSP and ICE as protocols too, and does not say which one a request names. They can be
 * recognised by their own methods; `GET`, `POST` and `OPTIONS` of RTSP look like those of HTTP.
 */
const httpMethods: ReadonlySet<string | undefined> = new Set(METHODS.filter((method) => method !== "SOURCE"));

/** What is wrong with the message, for the client; undefined if nothing is. RFC 9112, 2.3, 3.2 and 6.1. */
export function messageFault(incoming: IncomingMessage, hostCount: number): string | undefined {
  const { httpVersion, headers, method } = incoming;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return "The HTTP version must be 1.0 or 1.1.";
  }
  if (!httpMethods.has(method)) {
    return "The method does not belong to HTTP.";
  }
  if (hostCount > 1) {
    return "The request has more than one Host field.";
  }
  if (hostCount === 0 && httpVersion === "1.1") {
    return "The request has no Host field.";
  }
  if (headers.host !== undefined && !isHost(headers.host)) {
    return "The Host field is not a host with an optional port.";
  }
  const coding = headers["transfer-encoding"];
  return coding === undefined ? undefined : codingFault(coding, httpVersion);
}

/** Node decodes only the last coding, and treats HTTP/1.0, which has no transfer codings, like HTTP/1.1. */
function codingFault(coding: string, httpVersion: string): string | undefined {
  if (httpVersion === "1.0") {
    return "An HTTP/1.0 request has no Transfer-Encoding field.";
  }
  return coding.toLowerCase() === "chunked" ? undefined : "The only transfer coding supported is chunked.";
}
