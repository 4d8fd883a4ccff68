/**
 * What has to be looked at in a message before it counts as a request, because Node lets it pass or would refuse it
 * without a body.
 */

import type { IncomingMessage } from "node:http";

/** Node takes the first of doubled fields without a word; these two must not be doubled. */
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

/** What Node lets pass, or would refuse without a body: RFC 9112, 2.3 and 3.2. */
export function messageFault(incoming: IncomingMessage, hostCount: number): string | undefined {
  const { httpVersion } = incoming;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return "The HTTP version must be 1.0 or 1.1.";
  }
  if (hostCount > 1) {
    return "The request has more than one Host field.";
  }
  return hostCount === 0 && httpVersion === "1.1" ? "The request has no Host field." : undefined;
}
