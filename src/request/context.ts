import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../base/clock.ts";
import { withoutSecrets } from "../base/redact-secrets.ts";
import type { Report } from "../base/report.ts";
import type { Cors } from "../http/cors.ts";
import type { Exchange } from "../http/exchange.ts";
import { originForm } from "../http/message.ts";
import { clientAddress } from "../limits/client-address.ts";
import type { Decision, RateStatus } from "../limits/limiter.ts";
import type { Observers } from "../observe/observers.ts";
import type { Route } from "./routes.ts";

export interface Arrival {
  /** Path and query; undefined for the request's own. */
  readonly target: string | undefined;
  /** The address of the API, to which `/pets…` is appended in links and `Location`. */
  readonly linkBase: string;
  /** That of the guard, if the embedding program has routed the request and responds to it. */
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

/** One request and what the pipeline has found out about it so far. */
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
  /** Kept for the observers: a closed socket has none. */
  readonly #socketAddress: string | undefined;
  route: Route | undefined;
  keyId: string | undefined = undefined;
  /** Undefined on the public pages. */
  rate: Rate | undefined = undefined;
  /** The guard has let it through, and then it came to the service again, which counts it there. */
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

export interface ContextDependencies {
  readonly clock: Clock;
  readonly observers: Observers | undefined;
  readonly cors: Cors;
  readonly trustedProxyCount: number;
  readonly linkBase: string;
  readonly report: Report;
}

/** version "-" trace-id "-" parent-id "-" trace-flags, which are 55 characters; a version later than 00 may go on. */
const traceparent = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** No more origins are named: a client can send any. */
const namedOriginsMax = 10;

/** Creates the context of each request, with its id. Warns once of a proxy or an origin that no setting mentions. */
export class RequestContexts {
  readonly #dependencies: ContextDependencies;
  readonly requestIds = new RequestIds();
  /** From our own listener: no framework has rewritten the target. */
  readonly own: Arrival;
  #hasWarnedOfProxy = false;
  readonly #namedOrigins = new Set<string>();

  constructor(dependencies: ContextDependencies) {
    this.#dependencies = dependencies;
    const { linkBase } = dependencies;
    this.own = { target: undefined, linkBase, route: undefined, program: undefined };
  }

  begin(exchange: Exchange, arrival: Arrival): RequestContext {
    const { headers, fault } = exchange;
    const { trustedProxyCount, clock, observers, cors } = this.#dependencies;
    if (trustedProxyCount === 0 && !this.#hasWarnedOfProxy && headers["x-forwarded-for"] !== undefined) {
      this.#hasWarnedOfProxy = true;
      this.#dependencies.report(
        "requests carry X-Forwarded-For, which is ignored; behind a proxy set trustProxy (--trust-proxy), " +
          "or all clients count as one address",
        "warning",
      );
    }
    if (headers.origin !== undefined && arrival.route === undefined) {
      this.#warnOfOrigin(cors.refusedOrigin(headers));
    }
    const requestId = this.requestIds.choose(headers["x-request-id"]);
    const receivedMs = observers === undefined ? undefined : clock.monotonicMs();
    const hasAllFields = fault?.code !== "header_fields_too_large";
    const known = { requestId, receivedMs, trustedProxyCount: hasAllFields ? trustedProxyCount : 0 };
    return new RequestContext(exchange, arrival, known);
  }

  #warnOfOrigin(origin: string | undefined): void {
    if (origin !== undefined && !this.#namedOrigins.has(origin) && this.#namedOrigins.size < namedOriginsMax) {
      this.#namedOrigins.add(origin);
      this.#dependencies.report(`browsers may not call from ${origin}; see --cors-origin (corsOrigins)`, "warning");
    }
  }
}

/** A client's own id goes into logs and fields, so it must be short and plain. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

const prefixBytes = 6;
/** Few numbers: V8 keeps the text of each that is printed, so new ones become garbage that outlives a collection. */
const countMax = 1_000;

export class RequestIds {
  #prefix = "";
  #count = countMax;

  /** The client's `X-Request-Id` if it is short and plain and contains no key; otherwise a new id. */
  choose(clientId: string | string[] | undefined): string {
    const isPlain = typeof clientId === "string" && clientIdPattern.test(clientId);
    return isPlain && withoutSecrets(clientId) === clientId ? clientId : this.next();
  }

  /** A random prefix and a count: rarely equal in two processes. */
  next(): string {
    if (this.#count === countMax) {
      this.#prefix = randomBytes(prefixBytes).toString("base64url");
      this.#count = 0;
    }
    return `${this.#prefix}${this.#count++}`;
  }
}
