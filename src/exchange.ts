/**
 * One request with what became known of it on its way.
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { ErrorCode } from "./http/errors.ts";
import { clientAddress } from "./limits/address.ts";
import type { Decision } from "./limits/decision.ts";

export class Exchange {
  readonly incoming: IncomingMessage;
  /** Undefined for CONNECT: Node offers no response, its answer is written to the socket as bytes. */
  readonly outgoing: ServerResponse | undefined;
  /** As the router compares it. */
  readonly path: string;
  /** The raw text after `?`; "" where there is none. */
  readonly query: string;
  /** The address of the API in links and `Location`. */
  readonly linkBase: string;
  readonly requestId: string;
  /** Monotonic; 0 where nobody watches. */
  readonly receivedMs: number;
  /** The client waits for `100 Continue` before it sends its content. */
  readonly expectsContinue: boolean;
  /** Takes an error that belongs to the program around us rather than to the client. */
  readonly passOn: ((error: Error) => void) | undefined;

  readonly #trustedProxyCount: number;

  /** The route's pattern; "none" where the request was refused before its route was known. */
  route = "none";
  keyId: string | undefined;
  /** What the X-RateLimit fields say; undefined on the public pages. */
  rate: Decision | undefined;
  /** While content is being read: ends the reading with this error. */
  damage: ((code: ErrorCode) => void) | undefined;

  constructor(options: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse | undefined;
    /** Path and query. */
    readonly target: string;
    readonly linkBase: string;
    readonly requestId: string;
    readonly receivedMs: number;
    readonly expectsContinue: boolean;
    readonly passOn: ((error: Error) => void) | undefined;
    readonly trustedProxyCount: number;
  }) {
    this.incoming = options.incoming;
    this.outgoing = options.outgoing;
    const question = options.target.indexOf("?");
    this.path = question === -1 ? options.target : options.target.slice(0, question);
    this.query = question === -1 ? "" : options.target.slice(question + 1);
    this.linkBase = options.linkBase;
    this.requestId = options.requestId;
    this.receivedMs = options.receivedMs;
    this.expectsContinue = options.expectsContinue;
    this.passOn = options.passOn;
    this.#trustedProxyCount = options.trustedProxyCount;
  }

  /** What the request is charged to where no key is. Computed when asked for: most requests never need it. */
  get address(): string {
    const { socket, headers } = this.incoming;
    const forwardedFor = headers["x-forwarded-for"];
    const text = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
    return clientAddress(socket.remoteAddress, text, this.#trustedProxyCount);
  }
}
