/**
 * The steps of one request. Only this file knows their order:
 *
 *     message -> preflight? -> public page? -> authenticate -> limit -> route -> validate -> handle -> respond
 *     message -> preflight? -> authenticate -> limit -> a route of the embedding program
 *
 * Each step returns the response, or lets the next step run. Content is read only after the route, so that a client
 * without a key cannot make the service buffer.
 */

import type { IncomingMessage } from "node:http";

import { bounds } from "../base/bounds.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { type MaybePromise, whenSettled } from "../base/when-ready.ts";
import { ContentTakenError } from "../http/content-taken-error.ts";
import { type Cors, isPreflight } from "../http/cors.ts";
import type { ErrorCode } from "../http/errors.ts";
import { clientGone, type Exchange, type RequestHandler } from "../http/exchange.ts";
import { answerPublicPage, type PublicPage } from "../http/public-page.ts";
import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import type { CallerKey } from "../keys/key-summary.ts";
import { clientAddress } from "../limits/client-address.ts";
import { quote } from "../pets/faults.ts";
import type { Observers } from "../observe/observers.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { Admission, type AdmissionDependencies } from "./admission.ts";
import { letThrough, type Outcome } from "./content.ts";
import { type Arrival, type Program, RequestContext } from "./context.ts";
import { defaultBasePath, isBelow } from "./mount.ts";
import { RequestIds } from "./request-ids.ts";
import { otherMethod, readOnlyKey, Responder, storeErrorCode } from "./responder.ts";
import { guardedRoute, isSafe, operationOf, Router } from "./routes.ts";

export interface PipelineDependencies extends AdmissionDependencies {
  readonly clock: Clock;
  readonly observers: Observers | undefined;
  readonly cors: Cors;
  readonly trustedProxyCount: number;
  /** The address of the API, to which `/pets…` is appended in links and `Location`. */
  readonly linkBase: string;
  readonly report: Report;
  /** The path of the API. Our own listener serves it at the default path too. */
  readonly basePath: string;
  readonly store: PetStore;
  readonly publicPages: readonly PublicPage[];
}

export class Pipeline implements RequestHandler {
  readonly #dependencies: PipelineDependencies;
  readonly #publicPages: ReadonlyMap<string, PublicPage>;
  readonly #router: Router;
  /** For our own listener: a proxy may cut off the part of the base path that precedes the default path. */
  readonly #defaultRouter: Router;
  readonly #admission: Admission;
  readonly #responder: Responder;
  #mayWarnOfProxy: boolean;
  readonly #requestIds = new RequestIds();
  /** The arrival of a request at our own listener, where no framework has rewritten the target. */
  readonly #ownArrival: Arrival;

  constructor(dependencies: PipelineDependencies) {
    this.#dependencies = dependencies;
    this.#publicPages = new Map(dependencies.publicPages.map((page) => [page.path, page]));
    this.#router = new Router(dependencies.basePath);
    this.#defaultRouter = new Router(defaultBasePath);
    this.#admission = new Admission(dependencies);
    this.#responder = new Responder(dependencies.cors, dependencies.observers);
    const { trustedProxyCount, linkBase } = dependencies;
    this.#mayWarnOfProxy = trustedProxyCount === 0;
    this.#ownArrival = { target: undefined, linkBase, route: undefined, program: undefined };
  }

  /** Responds to a request whose header fields have been read, at once if nothing has to wait. Never throws. */
  run(exchange: Exchange, arrival: Arrival): void {
    const context = this.#begin(exchange, arrival);
    whenSettled(
      () => this.#process(context),
      (outcome) => this.#respond(context, outcome),
      (error) => this.#respond(context, this.#failure(context, error)),
    );
  }

  onRequest(exchange: Exchange): void {
    this.run(exchange, this.#ownArrival);
  }

  /** Calls `next()` of the embedding program, which has routed the request, if no step before the route refuses it. */
  guard(exchange: Exchange, program: Program): void {
    this.run(exchange, { ...this.#ownArrival, route: guardedRoute, program });
  }

  #begin(exchange: Exchange, arrival: Arrival): RequestContext {
    const { headers, fault } = exchange;
    const { trustedProxyCount, clock, observers, report } = this.#dependencies;
    if (this.#mayWarnOfProxy && headers["x-forwarded-for"] !== undefined) {
      this.#mayWarnOfProxy = false;
      report(
        "requests carry X-Forwarded-For, which is ignored; behind a proxy set trustProxy (--trust-proxy), " +
          "or all clients count as one address",
        "warning",
      );
    }
    const requestId = this.#requestIds.choose(headers["x-request-id"]);
    const receivedMs = observers === undefined ? undefined : clock.monotonicMs();
    const hasAllFields = fault?.code !== "header_fields_too_large";
    const known = { requestId, receivedMs, trustedProxyCount: hasAllFields ? trustedProxyCount : 0 };
    return new RequestContext(exchange, arrival, known);
  }

  keyOf(incoming: IncomingMessage): CallerKey | undefined {
    return this.#admission.keyOf(incoming);
  }

  /** Responds to bytes that are no request. This takes no token, and the response shows the address's window. */
  onClientError(code: ErrorCode, socketAddress: string | undefined, ageMs: number): () => string {
    const { addresses, clock } = this.#dependencies;
    const address = clientAddress(socketAddress, undefined, 0);
    const unread = { requestId: this.#requestIds.next(), address, receivedMs: clock.monotonicMs() - ageMs };
    return () => this.#responder.clientErrorToBytes(code, unread, addresses.peek(address));
  }

  #process(context: RequestContext): MaybePromise<Outcome> {
    const { addresses, store, cors } = this.#dependencies;
    const { path, arrival, exchange, exchange: { method, headers, fault } } = context;

    // Message
    if (fault !== undefined) {
      return this.#admission.refuseMessage(context, fault);
    }

    // Guard
    const { route: ownRoute, program } = arrival;
    if (ownRoute !== undefined && program !== undefined) {
      if (isPreflight(method, headers)) { // It has no key. Permission is for the program's own CORS, before the guard.
        context.rate = addresses.peek(context.address);
        return jsonResponse(204, undefined);
      }
      return this.#admission.admit(context, ownRoute, (key) => {
        if (key.isReadOnly && !isSafe(method)) {
          return readOnlyKey;
        }
        program.incoming.headers["x-request-id"] = context.requestId; // The request may come to the service again.
        return letThrough;
      });
    }

    // Preflight, public page
    const isTargetTooLong = exchange.target.length > bounds.targetBytesMax;
    const match = this.#router.find(path) ?? (program === undefined ? this.#defaultRouter.find(path) : undefined);
    // A path of the API is never that of a public page.
    const page = match === undefined ? this.#publicPages.get(path) : undefined;
    if (isPreflight(method, headers)) {
      context.rate = page === undefined ? addresses.peek(context.address) : undefined;
      return jsonResponse(204, undefined, cors.preflightFields(this.#router.methods, headers));
    }
    if (page !== undefined) {
      return isTargetTooLong ? errorResponse("uri_too_long") : answerPublicPage(method, page, headers["if-none-match"]);
    }

    // Authenticate, limit
    return this.#admission.admit(context, match?.route, (key, { quotas }) => {
      // Route
      if (isTargetTooLong) {
        return errorResponse("uri_too_long");
      }
      if (match === undefined) {
        return this.#routeNotFound(context);
      }
      const { route, parameter, allow } = match;
      context.route = route;
      const operation = operationOf(route, method);
      if (operation === undefined) {
        return otherMethod(method, allow);
      }
      if (key.isReadOnly && operation !== route.operations["GET"]) {
        return readOnlyKey;
      }

      // Validate, read the content if the operation takes it, and handle
      const { query } = context;
      const request = { key, quotas, store, query, parameter, linkBase: arrival.linkBase, fields: headers };
      return operation.handle(request, exchange);
    });
  }

  /** The message helps with the commonest mistakes: an address without `/v1`, and a slash at its end. */
  #routeNotFound({ path, arrival: { linkBase, program } }: RequestContext): Response {
    const basePaths = [this.#dependencies.basePath, ...(program === undefined ? [defaultBasePath] : [])];
    const isInApi = basePaths.some((basePath) => isBelow(path, basePath));
    const advice = isInApi ? "" : ` The addresses of the API begin with ${linkBase}/.`;
    return errorResponse("route_not_found", [], `There is nothing at ${quote(path)}.${advice}`);
  }

  /** If the response cannot be sent, only this client loses its connection. */
  #respond(context: RequestContext, outcome: Outcome): void {
    if (outcome === letThrough) {
      if (this.#responder.leaveToRoute(context)) {
        context.arrival.program?.next?.(); // Errors that the program throws there are not caught here.
      }
      return;
    }
    whenSettled(
      () => this.#send(context, outcome),
      () => undefined,
      (error) => {
        this.#report(context, error);
        context.exchange.destroy();
      },
    );
  }

  #send(context: RequestContext, outcome: Exclude<Outcome, typeof letThrough>): MaybePromise<void> {
    if (outcome === clientGone) {
      return this.#responder.sendNothing(context);
    }
    if (outcome instanceof ContentTakenError) {
      this.#responder.leaveToOther(context);
      return context.arrival.program?.next?.(outcome);
    }
    return this.#responder.send(context, outcome);
  }

  #failure(context: RequestContext, error: unknown): Outcome {
    if (error instanceof ContentTakenError && context.arrival.program?.next !== undefined) {
      return error;
    }
    const code = storeErrorCode(error);
    if (code === undefined) {
      this.#report(context, error);
    }
    return errorResponse(code ?? "internal_error");
  }

  #report({ requestId }: RequestContext, error: unknown): void {
    const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    this.#dependencies.report(`request ${requestId} failed: ${cause}`, "error");
  }
}
