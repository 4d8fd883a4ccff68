/** Makes the refusals of the pipeline, and sends each response with the common fields, and to the observers. */

import { Buffer } from "node:buffer"; // The global of that name is a getter, which costs 15 ns at each use.

import { pluralize } from "../base/pluralize.ts";
import { decimal } from "../base/texts.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import type { Cors } from "../http/cors.ts";
import type { ErrorCode } from "../http/errors.ts";
import { errorResponse, jsonResponse, type Response, responseBytes } from "../http/response.ts";
import type { RateStatus, Refusal } from "../limits/limiter.ts";
import type { ObservedRequest, Observers } from "../observe/observers.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";
import type { Rate, RequestContext } from "./context.ts";
import { operationOf } from "./routes.ts";

/** For requests without credentials: their challenge has no error code (RFC 6750, 3). */
export const missingKey: Response = challenge("missing_api_key", "");
/** For unknown, revoked, expired and malformed keys: it reveals nothing about a key (RFC 6750, 3.1). */
export const invalidKey: Response = challenge("invalid_api_key", ', error="invalid_token"');
/** For a read-only key and a method that is not safe (RFC 6750, 3.1). */
export const readOnlyKey: Response = challenge("insufficient_scope", ', error="insufficient_scope"');

function challenge(code: ErrorCode, parameters: string): Response {
  return errorResponse(code, ["WWW-Authenticate", `Bearer realm="animal-store"${parameters}`]);
}

/** The fields show one limit, and the message says which (RFC 6585, 4). */
export function overLimit({ kind, waitsFor, retryAfterSeconds }: Refusal): Response {
  const alsoBanned = kind === "key_banned" && waitsFor !== "ban" ? `${reasons.ban} ` : "";
  const message = `${alsoBanned}${reasons[waitsFor]} Wait ${pluralize(retryAfterSeconds, "second")}.`;
  return errorResponse(kind, ["Retry-After", String(retryAfterSeconds)], message);
}

const reasons: Readonly<Record<Refusal["waitsFor"], string>> = {
  minute: "The requests of the minute are used up.",
  day: "The requests of the day are used up.",
  ban: "The API key is banned because it went on after 429 responses.",
  address: "Too many requests without a valid key came from this address in a minute.",
};

/** For a method that the route does not have. The response to `OPTIONS` lists those it has (RFC 9110, 9.3.7). */
export function otherMethod(method: string, allow: string): Response {
  return method === "OPTIONS"
    ? jsonResponse(204, undefined, ["Allow", allow])
    : errorResponse("method_not_allowed", ["Allow", allow]);
}

/** The code of an error that a store promises to throw; undefined for any other error. */
export function storeErrorCode(error: unknown): ErrorCode | undefined {
  if (error instanceof StorageUnavailableError) {
    return "storage_unavailable";
  }
  return error instanceof OutcomeUnknownError ? "outcome_unknown" : undefined;
}

/** What is known about bytes that are not a request. */
type UnreadRequest = Pick<ObservedRequest, "requestId" | "address" | "receivedMs">;

export class Responder {
  readonly #cors: Cors;
  readonly #observers: Observers | undefined;

  constructor(cors: Cors, observers: Observers | undefined) {
    this.#cors = cors;
    this.#observers = observers;
  }

  /** @throws {Error} the response cannot be sent */
  send(context: RequestContext, response: Response): MaybePromise<void> {
    const { exchange, method } = context;
    if (!exchange.isOpen) {
      this.sendNothing(context, response);
      return;
    }
    const sending = exchange.send(response, this.#fieldsOf(context, response));
    this.#observers?.observe(context, response, method === "HEAD" ? 0 : contentLength(response));
    return sending;
  }

  /** Ends a request without a response. @param unsent the response that it would have had */
  sendNothing(context: RequestContext, unsent?: Response): void {
    this.#observers?.observe(context, { status: 0, effect: unsent?.effect }, 0);
  }

  /** Leaves the response to the embedding program, and observes the request when that has responded. */
  leaveToOther(context: RequestContext): void {
    const { outgoing } = context.arrival.program!; // Only requests that a program has passed on are left to it.
    if (outgoing.destroyed) {
      this.sendNothing(context);
      return;
    }
    outgoing.once("close", () => {
      if (!context.isTakenOver) {
        this.#observers?.observe(context, { status: outgoing.headersSent ? outgoing.statusCode : 0 }, 0);
      }
    });
  }

  /** As `leaveToOther`, but sets the request's id and rate fields before. Returns false if no response can be sent. */
  leaveToRoute(context: RequestContext): boolean {
    const { exchange, arrival, requestId, rate } = context;
    if (!exchange.isOpen) {
      this.sendNothing(context);
      return false;
    }
    const fields = ["X-Request-Id", requestId, ...(rate === undefined ? [] : rateFields(rate))];
    for (let index = 0; index < fields.length; index += 2) {
      arrival.program?.outgoing.setHeader(String(fields[index]), String(fields[index + 1]));
    }
    this.leaveToOther(context);
    return true;
  }

  clientErrorToBytes(code: ErrorCode, unread: UnreadRequest, rate: Rate): string {
    const response = errorResponse(code);
    const nothing = { method: "", routePattern: "none", keyId: undefined, trace: undefined };
    this.#observers?.observe({ ...unread, ...nothing }, response, contentLength(response));
    return responseBytes(response, commonFields(response, unread.requestId, rate));
  }

  #fieldsOf({ exchange, route, method, rate, arrival, requestId }: RequestContext, response: Response): string[] {
    const fields = commonFields(response, requestId, rate);
    const operation = route && operationOf(route, method);
    if (operation?.fields !== undefined) {
      fields.push(...operation.fields(arrival.linkBase));
    }
    this.#cors.appendFields(fields, method, exchange.headers);
    return fields;
  }
}

/** The fields that every response has, followed by its own. @param rate undefined on the public pages */
function commonFields(response: Response, requestId: string, rate: RateStatus | undefined): string[] {
  const { content, contentType, cacheControl, fields } = response;
  return [
    "X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Cache-Control", cacheControl,
    ...(content === undefined ? [] : ["Content-Type", contentType, "Content-Length", String(contentLength(response))]),
    ...(rate === undefined ? [] : rateFields(rate)),
    ...fields,
  ];
}

/** Uses `decimal` where V8's cache of printed numbers is no help: `remaining` is another number in each response. */
function rateFields({ limit, remaining, resetSeconds }: RateStatus): string[] {
  const reset = String(resetSeconds);
  return ["X-RateLimit-Limit", String(limit), "X-RateLimit-Remaining", decimal(remaining), "X-RateLimit-Reset", reset];
}

function contentLength({ content }: Response): number {
  return content === undefined ? 0 : Buffer.byteLength(content);
}
