/**
 * From an answer to the response: adds the fields that every answer has (contract, section 4), sends it once, and tells
 * those who watch.
 */

import { bounds } from "../http/bounds.ts";
import type { Cors } from "../http/cors.ts";
import type { ErrorCode } from "../http/errors.ts";
import { contentLength, fieldsOf, rawAnswer, respond, type WireResponse } from "../http/respond.ts";
import { type Response, errorResponse } from "../http/response.ts";
import type { Decision } from "../limits/decision.ts";
import type { Observers } from "../observe/observers.ts";
import type { RequestContext } from "./context.ts";
import { petRoute } from "./routes.ts";

export interface ReplyParts {
  readonly cors: Cors;
  readonly observers: Observers | undefined;
}

export class Reply {
  readonly #parts: ReplyParts;
  /** The fields of getPet's route. Kept, since nearly every request has the base of the one before. */
  #routeFields: { readonly linkBase: string; readonly fields: readonly string[] } = { linkBase: "", fields: [] };

  constructor(parts: ReplyParts) {
    this.#parts = parts;
  }

  /** @param answer undefined where the client has gone and nobody is left to answer */
  send(context: RequestContext, answer: Response | undefined): void {
    const { incoming, outgoing } = context;
    // Inside another program somebody else may have answered already, as a time-out of its own does.
    if (outgoing === undefined || outgoing.destroyed || outgoing.headersSent || answer === undefined) {
      this.#parts.observers?.observe(context, 0, 0);
      return;
    }
    const wire = this.#wire(context, answer);
    respond(incoming, outgoing, wire, bounds);
    this.#parts.observers?.observe(context, wire.status, contentLength(wire.content));
  }

  /** The same as bytes, for CONNECT, to which Node offers no response. */
  raw(context: RequestContext, answer: Response): string {
    const wire = this.#wire(context, answer);
    this.#parts.observers?.observe(context, wire.status, contentLength(wire.content));
    return rawAnswer(wire);
  }

  #wire(context: RequestContext, { status, fields: ownFields, content }: Response): WireResponse {
    const { incoming, rate } = context;
    const fields = fieldsOf(context.requestId, content, rate);
    for (const part of ownFields) {
      fields.push(part);
    }
    if (context.route === petRoute.pattern) {
      fields.push(...this.#fieldsOfRoute(context.arrival.linkBase));
    }
    if (!this.#parts.cors.isOff) {
      this.#parts.cors.appendFields(fields, incoming.headers.origin);
    }
    return { status, fields, content: incoming.method === "HEAD" ? undefined : content };
  }

  #fieldsOfRoute(linkBase: string): readonly string[] {
    if (linkBase !== this.#routeFields.linkBase) {
      this.#routeFields = { linkBase, fields: petRoute.fields(linkBase) };
    }
    return this.#routeFields.fields;
  }

  /** The whole answer to something that is no request, as bytes. */
  damage(code: ErrorCode, requestId: string, address: string, rate: Decision): string {
    const { status, content } = errorResponse(code);
    this.#parts.observers?.observeDamage({ requestId, address, status, contentBytes: contentLength(content) });
    return rawAnswer({ status, fields: fieldsOf(requestId, content, rate), content });
  }
}
