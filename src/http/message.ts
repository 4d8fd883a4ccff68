/**
 * Checks what a message says before its content: its target, and faults that Node accepts, or would reject without
 * content in the response.
 *
 * After a fault it is uncertain where the next request begins. So nothing that follows on the connection is read as a
 * request, and it is closed (RFC 9112, 11.2).
 */

import { type IncomingMessage, METHODS } from "node:http";

import { bounds } from "../base/bounds.ts";
import { isHost } from "../base/host.ts";
import { errorTable } from "./errors.ts";

/** How many fields have this name, in lower case. Node's `headers` cannot say: it drops repeated ones of some names. */
export function countField(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const other = rawHeaders[index] ?? "";
    if (other.length === name.length && other.toLowerCase() === name) {
      count++;
    }
  }
  return count;
}

/** What is wrong with a message, for the client. */
export interface MessageFault {
  readonly code: "malformed_request" | "header_fields_too_large";
  readonly message: string;
}

/** Node's parser also accepts RTSP and ICE, and does not say so, but methods that are only theirs give them away. */
const httpMethods: ReadonlySet<string | undefined> = new Set(METHODS.filter((method) => method !== "SOURCE"));

/** Returns the first fault. If there are too many fields, Node may have dropped some, so none of them is relied on. */
export function messageFault(incoming: IncomingMessage, rawHeaders: readonly string[]): MessageFault | undefined {
  if (rawHeaders.length > 2 * bounds.fieldCountMax) {
    return { code: "header_fields_too_large", message: errorTable.header_fields_too_large[1] };
  }
  const message = malformation(incoming, countField(rawHeaders, "host"));
  return message === undefined ? undefined : { code: "malformed_request", message };
}

/** Checks the version, the method, the host and the transfer coding (RFC 9112, 2.3, 3.2 and 6.1). */
function malformation(incoming: IncomingMessage, hostCount: number): string | undefined {
  const { httpVersion = "1.1", headers, method } = incoming; // A mock may have no version.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return "The HTTP version must be 1.0 or 1.1.";
  }
  if (!httpMethods.has(method)) {
    return "The method does not belong to HTTP.";
  }
  if (hostCount > 1) {
    return "The request has more than one Host header.";
  }
  if (hostCount === 0 && httpVersion === "1.1") {
    return "The request has no Host header.";
  }
  if (headers.host !== undefined && !isHost(headers.host)) {
    return "The Host header is not a host with an optional port.";
  }
  const coding = headers["transfer-encoding"];
  return coding === undefined ? undefined : codingFault(coding, httpVersion);
}

/** Node decodes only the last coding, and treats HTTP/1.0, which has no transfer codings, like HTTP/1.1. */
function codingFault(coding: string, httpVersion: string): string | undefined {
  if (httpVersion === "1.0") {
    return "An HTTP/1.0 request has no Transfer-Encoding header.";
  }
  return coding.toLowerCase() === "chunked" ? undefined : "The only transfer coding supported is chunked.";
}

/**
 * The path and query of a request target (RFC 9112, 3.2): an origin-form unchanged, an absolute-form without scheme and
 * authority. Any other form names no path of this service and is returned unchanged, as is an absolute-form whose
 * authority is empty or has user information (RFC 9110, 4.2.1 and 4.2.4).
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
