/**
 * Sends each response exactly once, with the fields that every response has, and informs the observers.
 */

import { Buffer } from "node:buffer"; // The global of that name is a getter, which costs 15 ns at each use.

import { decimal } from "../base/decimal.ts";
import type { Cors } from "../http/cors.ts";
import type { ErrorCode } from "../http/error-codes.ts";
import { rawResponse, respond, type WireResponse } from "../http/respond.ts";
import { errorResponse, type Response } from "../http/response.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import type { RateStatus } from "../limits/limiter.ts";
import type { Observers } from "../observe/observers.ts";
import type { Rate, RequestContext } from "./context.ts";

export interface ResponderDependencies {
  readonly cors: Cors;
  readonly observers: Observers | undefined;
}

export class Responder {
  readonly #cors: Cors;
  readonly #observers: Observers | undefined;

  constructor({ cors, observers }: ResponderDependencies) {
    this.#cors = cors;
    this.#observers = observers;
  }

  /** @throws {Error} the response cannot be sent */
  send(context: RequestContext, response: Response): MaybePromise<void> {
    const { incoming, outgoing } = context;
    // An embedding program may have responded already, for instance after a time-out of its own.
    if (outgoing === undefined || outgoing.destroyed || outgoing.headersSent) {
      this.sendNothing(context);
      return;
    }
    const wire = this.#wireResponse(context, response);
    const sending = respond(incoming, outgoing, wire);
    this.#observers?.observe(context, wire.status, contentLength(wire.content));
    return sending;
  }

  /** The client has gone: the request is observed with status 0. */
  sendNothing(context: RequestContext): void {
    this.#observers?.observe(context, 0, 0);
  }

  /** The response as bytes, for CONNECT: Node has no response object for it. */
  toBytes(context: RequestContext, response: Response): string {
    const wire = this.#wireResponse(context, response);
    this.#observers?.observe(context, wire.status, contentLength(wire.content));
    return rawResponse(wire);
  }

  /** The response, as bytes, to bytes that cannot be read as a request. */
  clientErrorToBytes(code: ErrorCode, requestId: string, address: string, rate: Rate): string {
    const response = errorResponse(code);
    const { status, content } = response;
    const unread = { method: "", routePattern: "none", keyId: undefined, receivedMs: undefined, rate: undefined };
    this.#observers?.observe({ requestId, address, ...unread }, status, contentLength(content));
    return rawResponse({ status, fields: fieldsOf(response, requestId, rate), content });
  }

  #wireResponse(context: RequestContext, response: Response): WireResponse {
    const { incoming, route, rate, arrival, requestId } = context;
    const { status, content } = response;
    const fields = fieldsOf(response, requestId, rate);
    if (route?.fields !== undefined) {
      append(fields, route.fields(arrival.linkBase));
    }
    if (!this.#cors.isOff) {
      this.#cors.appendFields(fields, incoming.headers.origin);
    }
    return { status, fields, content: incoming.method === "HEAD" ? undefined : content };
  }
}

/**
 * All fields of a response: those that every response has, then its own.
 *
 * @param rate undefined on the public pages, which are not the API
 */
function fieldsOf(response: Response, requestId: string, rate: RateStatus | undefined): string[] {
  const { content, contentType, cacheControl, fields } = response;
  return [
    "X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Cache-Control", cacheControl,
    ...(content === undefined ? [] : ["Content-Type", contentType, "Content-Length", String(contentLength(content))]),
    ...(rate === undefined ? [] : rateFields(rate)),
    ...fields,
  ];
}

/** What remains is another number in each response. */
function rateFields({ limit, remaining, resetSeconds }: RateStatus): string[] {
  const reset = String(resetSeconds);
  return ["X-RateLimit-Limit", String(limit), "X-RateLimit-Remaining", decimal(remaining), "X-RateLimit-Reset", reset];
}

function append(all: string[], parts: readonly string[]): void {
  for (const part of parts) {
    all.push(part);
  }
}

/** In bytes. */
function contentLength(content: string | Uint8Array | undefined): number {
  return content === undefined ? 0 : Buffer.byteLength(content);
}
