/**
 * The way of one request, top to bottom: the only place that knows the order (contract, section 2).
 *
 *     message -> public page? -> preflight? -> authenticate -> limit -> route -> validate -> handle -> respond
 *
 * Each step either answers, and the way ends there, or hands on. Content is read only after authentication, limit and
 * route: a stranger must not make us buffer.
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../disk/clock.ts";
import { bounds } from "../http/bounds.ts";
import type { ErrorCode } from "../http/errors.ts";
import { countFields, messageFault } from "../http/message.ts";
import { answerPublicPage, type PublicPage } from "../http/public-page.ts";
import { type Response, jsonResponse, errorResponse } from "../http/response.ts";
import { Router } from "../http/router.ts";
import type { ApiKey } from "../keys/key.ts";
import type { Authentication, Keyring } from "../keys/keyring.ts";
import { clientAddress } from "../limits/address.ts";
import type { Addresses } from "../limits/addresses.ts";
import type { Decision } from "../limits/decision.ts";
import type { Limiter } from "../limits/limiter.ts";
import { OutcomeUnknownError, type PetStore, StorageUnavailableError } from "../pets/pet-store.ts";
import { isPending } from "../http/when-ready.ts";
import { ContentTakenError, takeContent } from "./content.ts";
import { type Arrival, RequestContext } from "./context.ts";
import { Reply, type ReplyParts } from "./reply.ts";
import { RequestIds } from "./request-id.ts";
import { type ApiRequest, type Operation, routes } from "./routes.ts";

/** What the way needs of the service around it. */
export interface RequestPathParts extends ReplyParts {
  readonly clock: Clock;
  readonly basePath: string;
  readonly keyring: Keyring;
  readonly limiter: Limiter;
  readonly addresses: Addresses;
  readonly store: PetStore;
  readonly trustedProxyCount: number;
  readonly publicPages: readonly PublicPage[];
  /** Tells an operator of a fault that no client may see. */
  readonly report: (message: string) => void;
}

/** What a step comes to. Undefined: the way goes on when the content is there. */
type Outcome = Response | Promise<Response> | undefined;

const noContent = new Uint8Array(0);

export class RequestPath {
  readonly #parts: RequestPathParts;
  readonly #router: Router<Operation>;
  readonly #reply: Reply;
  readonly #requestIds = new RequestIds();
  #hasWarnedOfProxy = false;

  constructor(parts: RequestPathParts) {
    this.#parts = parts;
    this.#router = new Router(parts.basePath, routes);
    this.#reply = new Reply(parts);
  }

  /** A request has arrived: its fields are known, its content may still be coming. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse | undefined, arrival: Arrival): RequestContext {
    if (this.#parts.trustedProxyCount === 0 && incoming.headers["x-forwarded-for"] !== undefined) {
      this.#warnOfProxy();
    }
    return new RequestContext(incoming, outgoing, arrival, {
      requestId: this.#requestId(incoming.headers["x-request-id"]),
      receivedMs: this.#parts.observers === undefined ? 0 : this.#parts.clock.monotonicMs(),
      trustedProxyCount: this.#parts.trustedProxyCount,
    });
  }

  /** Answers the request: at once where nothing has to be waited for. Never throws. */
  respond(context: RequestContext): void {
    this.#give(context, () => this.#arrive(context));
  }

  /** CONNECT: takes the same way, but its answer has to be written to the socket. Never rejects. */
  async answerRaw(context: RequestContext): Promise<string> {
    try {
      const result = await this.#arrive(context);
      return this.#reply.raw(context, result ?? errorResponse("route_not_found")); // CONNECT is no method of any route.
    } catch (error) {
      return this.#reply.raw(context, errorResponse(this.#failureCode(context, error)));
    }
  }

  /**
   * The answer to something that is no request at all: it takes no token, and shows the bucket of the address, since
   * no fields were read that could name a key.
   */
  damageAnswer(code: ErrorCode, socketAddress: string | undefined): string {
    const address = clientAddress(socketAddress, undefined, 0);
    return this.#reply.damage(code, this.#requestId(undefined), address, this.#parts.addresses.peek(address));
  }

  /** Sends what a step comes to, now or when it is there. */
  #give(context: RequestContext, step: () => Outcome): void {
    try {
      const outcome = step();
      if (isPending(outcome)) {
        outcome.then(
          (answered) => this.#reply.send(context, answered),
          (error: unknown) => this.#fail(context, error),
        );
      } else if (outcome !== undefined) {
        this.#reply.send(context, outcome);
      }
    } catch (error) {
      this.#fail(context, error);
    }
  }

  #arrive(context: RequestContext): Outcome {
    const { incoming } = context;
    const { hostCount, authorizationCount } = countFields(incoming.rawHeaders);
    const fault = messageFault(incoming, hostCount);
    if (fault !== undefined) {
      context.rate = this.#peek(context, authorizationCount);
      if (context.outgoing !== undefined) {
        context.outgoing.shouldKeepAlive = false; // What was meant by the bytes behind it is anybody's guess.
      }
      return errorResponse("malformed_request", [], fault);
    }
    for (const page of this.#parts.publicPages) {
      if (page.path === context.path) {
        return answerPublicPage(incoming.method, page);
      }
    }
    if (this.#parts.cors.isPreflight(incoming.method, incoming.headers)) {
      context.rate = this.#parts.addresses.peek(context.address);
      return jsonResponse(204, undefined, this.#parts.cors.preflightFields("GET, HEAD, POST, OPTIONS"));
    }
    return this.#authenticate(context, authorizationCount);
  }

  #authenticate(context: RequestContext, authorizationCount: number): Outcome {
    const { addresses } = this.#parts;
    const authentication = this.#authentication(context, authorizationCount);
    if (authentication.kind === "key") {
      return this.#limit(context, authentication.key);
    }
    const rate = addresses.take(context.address);
    context.rate = rate;
    if (rate.kind !== "allowed") {
      return refuseOverLimit(rate);
    }
    return authentication.kind === "missing" ? missingKey : invalidKey;
  }

  #limit(context: RequestContext, key: ApiKey): Outcome {
    context.keyId = key.id;
    const rate = this.#parts.limiter.take(key.id, key.plan);
    context.rate = rate;
    return rate.kind === "allowed" ? this.#route(context, key) : refuseOverLimit(rate);
  }

  #route(context: RequestContext, key: ApiKey): Outcome {
    const { incoming } = context;
    if ((incoming.url ?? "").length > bounds.targetBytesMax) {
      return errorResponse("uri_too_long");
    }
    const match = this.#router.find(context.path);
    if (match === undefined) {
      return errorResponse("route_not_found");
    }
    context.route = match.route.pattern;
    const method = incoming.method ?? "";
    const operation = match.route.operations[method === "HEAD" ? "GET" : method];
    if (operation === undefined) {
      const allow = ["Allow", this.#router.allow(match.route)];
      return method === "OPTIONS" ? jsonResponse(204, undefined, allow) : errorResponse("method_not_allowed", allow);
    }
    if (!operation.takesContent) {
      return operation.handle(this.#apiRequest(context, key, match.parameter, noContent));
    }
    takeContent(context, (taken) => {
      if (taken instanceof Uint8Array) {
        this.#give(context, () => operation.handle(this.#apiRequest(context, key, match.parameter, taken)));
      } else {
        this.#reply.send(context, taken);
      }
    });
    return undefined;
  }

  #apiRequest(context: RequestContext, key: ApiKey, parameter: string, content: Uint8Array): ApiRequest {
    const { store, limiter } = this.#parts;
    const { query, arrival } = context;
    return { key, limiter, store, query, parameter, content, linkBase: arrival.linkBase };
  }

  #fail(context: RequestContext, error: unknown): void {
    const { passOn } = context.arrival;
    if (error instanceof ContentTakenError && passOn !== undefined) {
      passOn(error);
      return;
    }
    this.#reply.send(context, errorResponse(this.#failureCode(context, error)));
  }

  #failureCode(context: RequestContext, error: unknown): ErrorCode {
    if (error instanceof StorageUnavailableError) {
      return "storage_unavailable";
    }
    if (error instanceof OutcomeUnknownError) {
      return "outcome_unknown";
    }
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.report(`request ${context.requestId} failed: ${cause}`);
    return "internal_error";
  }

  #authentication(context: RequestContext, authorizationCount: number): Authentication {
    return authorizationCount > 1
      ? { kind: "invalid" }
      : this.#parts.keyring.authenticate(context.incoming.headers.authorization);
  }

  /** What the rate fields say on an answer that takes no token: the key's where there is one, else the address's. */
  #peek(context: RequestContext, authorizationCount: number): Decision {
    const authentication = this.#authentication(context, authorizationCount);
    return authentication.kind === "key"
      ? this.#parts.limiter.peek(authentication.key.id, authentication.key.plan)
      : this.#parts.addresses.peek(context.address);
  }

  #warnOfProxy(): void {
    if (!this.#hasWarnedOfProxy) {
      this.#hasWarnedOfProxy = true;
      this.#parts.report(
        "warning: requests carry X-Forwarded-For, which is ignored: behind a proxy set --trust-proxy, " +
          "or all clients count as one address",
      );
    }
  }

  /** A client's own id is taken over only when it is short and plain, since it goes into logs. */
  #requestId(given: string | string[] | undefined): string {
    if (typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given)) {
      return given;
    }
    return this.#requestIds.next();
  }
}

const missingKey = errorResponse("missing_api_key", ["WWW-Authenticate", 'Bearer realm="animal-store"']);
const invalidKey = errorResponse("invalid_api_key", [
  "WWW-Authenticate",
  'Bearer realm="animal-store", error="invalid_token"', // RFC 6750, 3.1
]);

function refuseOverLimit({ kind, retryAfterSeconds }: Decision): Response {
  return errorResponse(kind === "key_banned" ? kind : "rate_limited", ["Retry-After", String(retryAfterSeconds)]);
}
