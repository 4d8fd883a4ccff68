/** One request: how it reached the service, and what the steps of the pipeline have found out about it so far. */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { Exchange } from "../http/exchange.ts";
import { originForm } from "../http/message.ts";
import { clientAddress } from "../limits/client-address.ts";
import type { Decision, RateStatus } from "../limits/limiter.ts";
import type { Route } from "./routes.ts";

export interface Arrival {
  /** Path and query, if a framework has rewritten those of the request; else undefined. */
  readonly target: string | undefined;
  /** The address of the API, to which `/pets…` is appended in links and `Location`. */
  readonly linkBase: string;
  /** The guard's route, if the embedding program has routed the request and responds to it. */
  readonly route: Route | undefined;
  /** Undefined if the request comes from our own listener. */
  readonly program: Program | undefined;
}

/** An embedding program, and what it has handed over. */
export interface Program {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Hands the request back, with an error if it concerns the program, not the client. */
  readonly next: ((error?: Error) => void) | undefined;
}

/** The values of the X-RateLimit fields; `kind` says what was decided, if the request was to take a token. */
export type Rate = RateStatus & { readonly kind?: Decision["kind"] };

export class RequestContext {
  readonly exchange: Exchange;
  readonly arrival: Arrival;
  readonly path: string;
  /** The raw text after `?`; "" if there is none. */
  readonly query: string;
  readonly requestId: string;
  /** Monotonic. Undefined if the request is not observed. */
  readonly receivedMs: number | undefined;
  readonly trustedProxyCount: number;
  /** Read early for the observers: a closed socket has no address. */
  readonly #socketAddress: string | undefined;
  route: Route | undefined;
  keyId: string | undefined = undefined;
  /** Undefined on the public pages. */
  rate: Rate | undefined = undefined;
  /** Whether the request came to the service again after the guard had passed it on: it is observed only there. */
  isTakenOver = false;

  constructor(
    exchange: Exchange,
    arrival: Arrival,
    known: { readonly requestId: string; readonly receivedMs: number | undefined; readonly trustedProxyCount: number },
  ) {
    this.exchange = exchange;
    this.arrival = arrival;
    this.route = arrival.route;
    const target = arrival.target ?? originForm(exchange.target);
    const queryMark = target.indexOf("?");
    this.path = queryMark === -1 ? target : target.slice(0, queryMark);
    this.query = queryMark === -1 ? "" : target.slice(queryMark + 1);
    this.requestId = known.requestId;
    this.receivedMs = known.receivedMs;
    this.trustedProxyCount = known.trustedProxyCount;
    this.#socketAddress = known.receivedMs === undefined ? undefined : exchange.socketAddress;
  }

  get method(): string {
    return this.exchange.method;
  }

  /** For logs and metrics: a pattern, never the target; "none" if the request was refused before it was routed. */
  get routePattern(): string {
    return this.route?.pattern ?? "none";
  }

  /** The trace id of a well-formed `traceparent` (W3C Trace Context, 3.2). */
  get trace(): string | undefined {
    return traceparent.exec(String(this.exchange.headers["traceparent"]))?.[1];
  }

  /** The client's address, to which failed authentication is charged. */
  get address(): string {
    const forwardedFor = this.exchange.headers["x-forwarded-for"];
    const text = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
    return clientAddress(this.#socketAddress ?? this.exchange.socketAddress, text, this.trustedProxyCount);
  }
}

/** version "-" trace-id "-" parent-id "-" trace-flags, which are 55 characters; a version later than 00 may go on. */
const traceparent = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;
