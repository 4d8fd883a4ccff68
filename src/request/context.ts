/**
 * One request with what became known of it on its way.
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { ErrorCode } from "../http/errors.ts";
import { originForm } from "../http/router.ts";
import { clientAddress } from "../limits/address.ts";
import type { Decision, RateStatus } from "../limits/limiter.ts";

/** How a request came to us. */
export interface Arrival {
  /** Path and query; the request's own target where undefined. */
  readonly target: string | undefined;
  /** The address of the API in links and `Location`. */
  readonly linkBase: string;
  /** The client waits for `100 Continue` before it sends its content. */
  readonly expectsContinue: boolean;
  /** Takes an error that belongs to the program around us rather than to the client. */
  readonly passOn: ((error: Error) => void) | undefined;
}

export class RequestContext {
  readonly incoming: IncomingMessage;
  /** Undefined for CONNECT: Node offers no response, its answer is written to the socket as bytes. */
  readonly outgoing: ServerResponse | undefined;
  readonly arrival: Arrival;
  /** As the router compares it. */
  readonly path: string;
  /** The raw text after `?`; "" where there is none. */
  readonly query: string;
  readonly requestId: string;
  /** Monotonic; 0 where nobody watches. */
  readonly receivedMs: number;
  readonly trustedProxyCount: number;
  /** The route's pattern; "none" where the request was refused before its route was known. */
  route: string;
  keyId: string | undefined;
  /** What the X-RateLimit fields say; undefined on the public pages. */
  rate: Decision | RateStatus | undefined;
  /** While content is being read: ends the reading with this error. */
  damage: ((code: ErrorCode) => void) | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse | undefined,
    arrival: Arrival,
    known: { readonly requestId: string; readonly receivedMs: number; readonly trustedProxyCount: number },
  ) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.arrival = arrival;
    const target = arrival.target ?? originForm(incoming.url ?? "");
    const question = target.indexOf("?");
    this.path = question === -1 ? target : target.slice(0, question);
    this.query = question === -1 ? "" : target.slice(question + 1);
    this.requestId = known.requestId;
    this.receivedMs = known.receivedMs;
    this.trustedProxyCount = known.trustedProxyCount;
    this.route = "none";
    this.keyId = undefined;
    this.rate = undefined;
    this.damage = undefined;
  }

  /** What the request is charged to where no key is. Computed when asked for: most requests never need it. */
  get address(): string {
    const { socket, headers } = this.incoming;
    const forwardedFor = headers["x-forwarded-for"];
    const text = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
    return clientAddress(socket.remoteAddress, text, this.trustedProxyCount);
  }
}
