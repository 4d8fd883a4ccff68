/**
 * The pipeline's steps "authenticate" and "limit", for the API and for routes of an embedding program. Only this file
 * takes tokens from limiters, also for messages that are refused before these steps.
 */

import type { IncomingMessage } from "node:http";

import { type MaybePromise, whenReady } from "../base/when-ready.ts";
import type { MessageFault } from "../http/message.ts";
import { errorResponse, type Response } from "../http/response.ts";
import type { CallerKey } from "../keys/key-summary.ts";
import type { ApiKey } from "../keys/key.ts";
import type { Authentication, Keyring } from "../keys/keyring.ts";
import type { AddressLimiter } from "../limits/address-limiter.ts";
import type { Limiter, Served } from "../limits/limiter.ts";
import type { Outcome } from "./content.ts";
import type { RequestContext } from "./context.ts";
import { invalidKey, missingKey, overLimit } from "./responder.ts";
import type { Route } from "./routes.ts";

export interface AdmissionDependencies {
  readonly keyring: Keyring;
  readonly limiter: Limiter;
  readonly addresses: AddressLimiter;
}

/** A request of an embedding program that has taken its token. */
interface Admitted {
  readonly context: RequestContext;
  readonly callerKey: CallerKey;
  readonly decision: Served;
}

export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #admitted = new WeakMap<IncomingMessage, Admitted>();

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Passes the request's key to `next`, with the decision of the limiter, or returns the response that refuses the
   * request. A request that has taken a token in `guard` takes no second one.
   * @param route the route of the request: a 503 has its fields, too
   */
  admit(
    context: RequestContext,
    route: Route | undefined,
    next: (key: ApiKey, decision: Served) => MaybePromise<Outcome>,
  ): MaybePromise<Outcome> {
    const authentication = this.#authenticate(context);
    if (authentication.kind === "unavailable") {
      context.rate = this.#dependencies.addresses.peek(context.address);
      context.route = route;
      return errorResponse("storage_unavailable");
    }
    if (authentication.kind !== "key") {
      return this.#refuseCaller(context, authentication.kind);
    }
    const { key } = authentication;
    context.keyId = key.id;
    const { program } = context.arrival;
    const before = program && this.#admitted.get(program.incoming);
    if (before !== undefined) {
      before.context.isTakenOver = true;
    }
    return whenReady(before?.decision ?? this.#dependencies.limiter.take(key.id, key.plan), (decision) => {
      context.rate = decision;
      if (decision.kind === "unavailable") {
        context.route = route;
        return errorResponse("storage_unavailable");
      }
      if (decision.kind !== "allowed") {
        return overLimit(decision);
      }
      if (program !== undefined) {
        const { id, plan, label = null, isReadOnly: readOnly } = key;
        const callerKey = Object.freeze({ id, plan: plan.name, label, readOnly });
        this.#admitted.set(program.incoming, { context, callerKey, decision });
      }
      return next(key, decision);
    });
  }

  keyOf(incoming: IncomingMessage): CallerKey | undefined {
    return this.#admitted.get(incoming)?.callerKey;
  }

  /** Returns a 400 or 431 and ends the connection. A wrong key is charged to the address, so that no try is free. */
  refuseMessage(context: RequestContext, { code, message }: MessageFault): MaybePromise<Response> {
    const { limiter, addresses } = this.#dependencies;
    context.exchange.endConnection();
    if (code === "header_fields_too_large") {
      context.rate = addresses.peek(context.address);
      return errorResponse(code, [], message);
    }
    const authentication = this.#authenticate(context);
    context.keyId = authentication.kind === "key" ? authentication.key.id : undefined;
    const rate =
      authentication.kind === "key"
        ? limiter.peek(authentication.key.id, authentication.key.plan)
        : authentication.kind === "invalid"
          ? addresses.take(context.address)
          : addresses.peek(context.address);
    return whenReady(rate, (status) => {
      context.rate = status;
      return errorResponse(code, [], message);
    });
  }

  #authenticate({ exchange }: RequestContext): Authentication {
    return exchange.countField("authorization") > 1
      ? { kind: "invalid" }
      : this.#dependencies.keyring.authenticate(exchange.headers.authorization);
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
}
