/**
 * The steps of one request. Only this file knows their order:
 *
 *     message -> preflight? -> public page? -> authenticate -> limit -> route -> validate -> handle -> respond
 *
 * Each step returns the response, or lets the next step run. Content is read only after the route, so that a client
 * without a key cannot make the service buffer.
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import { messageOf } from "../base/error-message.ts";
import { bounds } from "../base/bounds.ts";
import { takeNoMore } from "../http/closing.ts";
import type { RequestHandler } from "../http/connection.ts";
import type { ErrorCode } from "../http/errors.ts";
import { countFields, hasTooManyFields, messageFault } from "../http/message.ts";
import { answerPublicPage, type PublicPage } from "../http/public-page.ts";
import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import { type MaybePromise, whenReady, whenSettled } from "../base/when-ready.ts";
import type { Authentication, Keyring } from "../keys/keyring.ts";
import { clientAddress } from "../limits/client-address.ts";
import type { AddressLimiter } from "../limits/address-limiter.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { clientGone, ContentTakenError, handleContent, type Outcome } from "./content.ts";
import { type Arrival, type ContextDependencies, type RequestContext, RequestContexts } from "./context.ts";
import { invalidKey, missingKey, otherMethod, overLimit, readOnlyKey, Responder, storeErrorCode } from "./responder.ts";
import { operationOf, Router } from "./routes.ts";

export interface PipelineDependencies extends ContextDependencies {
  readonly basePath: string;
  readonly keyring: Keyring;
  readonly limiter: Limiter;
  readonly addresses: AddressLimiter;
  readonly store: PetStore;
  readonly publicPages: readonly PublicPage[];
}

export class Pipeline implements RequestHandler {
  readonly #dependencies: PipelineDependencies;
  readonly #publicPages: ReadonlyMap<string, PublicPage>;
  readonly #router: Router;
  readonly #responder: Responder;
  readonly #contexts: RequestContexts;

  constructor(dependencies: PipelineDependencies) {
    this.#dependencies = dependencies;
    this.#publicPages = new Map(dependencies.publicPages.map((page) => [page.path, page]));
    this.#router = new Router(dependencies.basePath, dependencies.store);
    this.#responder = new Responder(dependencies.cors, dependencies.observers);
    this.#contexts = new RequestContexts(dependencies);
  }

  /** Responds to a request whose header fields are known: at once if nothing has to be waited for. Never throws. */
  run(incoming: IncomingMessage, outgoing: ServerResponse, arrival: Arrival): RequestContext {
    const context = this.#contexts.begin(incoming, outgoing, arrival);
    whenSettled(
      () => this.#process(context),
      (outcome) => this.#respond(context, outcome),
      (error) => this.#respond(context, this.#failure(context, error)),
    );
    return context;
  }

  onRequest(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): RequestContext {
    const { own, ownExpecting } = this.#contexts;
    return this.run(incoming, outgoing, expectsContinue ? ownExpecting : own);
  }

  /** CONNECT goes through the same steps. Never rejects. */
  onConnect(incoming: IncomingMessage): Promise<string> {
    const context = this.#contexts.begin(incoming, undefined, this.#contexts.own);
    return new Promise((resolve) => {
      const finish = (outcome: Outcome): void => {
        // Only reading content can end without a response, and no operation with this method takes content.
        const isResponse = outcome !== clientGone && !(outcome instanceof ContentTakenError);
        resolve(this.#responder.toBytes(context, isResponse ? outcome : errorResponse("internal_error")));
      };
      whenSettled(() => this.#process(context), finish, (error) => finish(this.#failure(context, error)));
    });
  }

  /** It takes no token and shows the address's bucket. */
  onClientError(code: ErrorCode, socketAddress: string | undefined, ageMs: number): () => string {
    const { addresses, clock } = this.#dependencies;
    const address = clientAddress(socketAddress, undefined, 0);
    const unread = { requestId: this.#contexts.requestIds.next(), address, receivedMs: clock.monotonicMs() - ageMs };
    return () => this.#responder.clientErrorToBytes(code, unread, addresses.peek(address));
  }

  #process(context: RequestContext): MaybePromise<Outcome> {
    const { limiter, addresses, store, cors } = this.#dependencies;
    const { path, incoming, incoming: { method, headers } } = context;

    // Message
    const { hostCount, authorizationCount } = countFields(incoming.rawHeaders);
    const fault = messageFault(incoming, hostCount);
    if (fault !== undefined) {
      return this.#refuseMessage(context, authorizationCount, fault);
    }

    // Preflight, public page
    const isTargetTooLong = (incoming.url ?? "").length > bounds.targetBytesMax;
    const match = this.#router.find(path);
    // No page has a path of the API.
    const page = match === undefined ? this.#publicPages.get(path) : undefined;
    if (cors.isPreflight(method, headers)) {
      context.rate = page === undefined ? addresses.peek(context.address) : undefined;
      return jsonResponse(204, undefined, cors.preflightFields(this.#router.methods));
    }
    if (page !== undefined) {
      return isTargetTooLong ? errorResponse("uri_too_long") : answerPublicPage(method, page, headers["if-none-match"]);
    }

    // Authenticate
    const authentication = this.#authenticate(context, authorizationCount);
    if (authentication.kind !== "key") {
      return this.#refuseCaller(context, authentication.kind);
    }
    const { key } = authentication;
    context.keyId = key.id;

    // Limit
    return whenReady(limiter.take(key.id, key.plan), (decision): MaybePromise<Outcome> => {
      context.rate = decision;
      if (decision.kind === "unavailable") {
        context.route = match?.route; // The fields of the operation belong to this response too.
        return errorResponse("storage_unavailable");
      }
      if (decision.kind !== "allowed") {
        return overLimit(decision);
      }

      // Route
      if (isTargetTooLong) {
        return errorResponse("uri_too_long");
      }
      if (match === undefined) {
        return errorResponse("route_not_found");
      }
      const { route, parameter, allow } = match;
      context.route = route;
      const operation = operationOf(route, context.method);
      if (operation === undefined) {
        return otherMethod(context.method, allow);
      }
      if (key.isReadOnly && operation !== route.operations["GET"]) {
        return readOnlyKey;
      }

      // Validate, read the content if the operation takes it, and handle
      const { query, arrival: { linkBase } } = context;
      const request = { key, quotas: decision.quotas, store, query, parameter, linkBase, fields: headers };
      const handling = operation.handle(request);
      return typeof handling === "function" ? handleContent(context, operation.mediaTypes ?? [], handling) : handling;
    });
  }

  /** If sending throws, only this client loses its connection. */
  #respond(context: RequestContext, outcome: Outcome): void {
    whenSettled(
      () => this.#send(context, outcome),
      () => undefined,
      (error) => {
        this.#report(context, error);
        context.outgoing?.destroy();
      },
    );
  }

  #send(context: RequestContext, outcome: Outcome): MaybePromise<void> {
    if (outcome === clientGone) {
      return this.#responder.sendNothing(context);
    }
    if (outcome instanceof ContentTakenError) {
      this.#responder.leaveToOther(context);
      return context.arrival.next?.(outcome);
    }
    return this.#responder.send(context, outcome);
  }

  /** 400 or 431, and the last response. A wrong key is charged to the address: keys cannot be tried uncounted. */
  #refuseMessage(context: RequestContext, authorizationCount: number, fault: string): MaybePromise<Response> {
    const { limiter, addresses } = this.#dependencies;
    takeNoMore(context.incoming.socket);
    if (context.outgoing !== undefined) {
      context.outgoing.shouldKeepAlive = false;
    }
    if (hasTooManyFields(context.incoming)) {
      context.rate = addresses.peek(context.address);
      return errorResponse("header_fields_too_large", [], fault);
    }
    const authentication = this.#authenticate(context, authorizationCount);
    context.keyId = authentication.kind === "key" ? authentication.key.id : undefined;
    const rate =
      authentication.kind === "key"
        ? limiter.peek(authentication.key.id, authentication.key.plan)
        : authentication.kind === "invalid"
          ? addresses.take(context.address)
          : addresses.peek(context.address);
    return whenReady(rate, (status) => {
      context.rate = status;
      return errorResponse("malformed_request", [], fault);
    });
  }

  #authenticate({ incoming }: RequestContext, authorizationCount: number): Authentication {
    return authorizationCount > 1
      ? { kind: "invalid" }
      : this.#dependencies.keyring.authenticate(incoming.headers.authorization);
  }

  /** 401, or 429 once the address has failed too often. */
  #refuseCaller(context: RequestContext, kind: "missing" | "invalid"): Response {
    const decision = this.#dependencies.addresses.take(context.address);
    context.rate = decision;
    if (decision.kind !== "allowed") {
      return overLimit(decision);
    }
    return kind === "missing" ? missingKey : invalidKey;
  }

  #failure(context: RequestContext, error: unknown): Outcome {
    if (error instanceof ContentTakenError && context.arrival.next !== undefined) {
      return error;
    }
    const code = storeErrorCode(error);
    if (code !== undefined) {
      return errorResponse(code);
    }
    this.#report(context, error);
    return errorResponse("internal_error");
  }

  #report({ requestId }: RequestContext, error: unknown): void {
    const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    this.#dependencies.report(`request ${requestId} failed: ${cause}`, "error");
  }
}
