/**
 * From an answer to the response: adds the fields that every answer has (contract, section 4), sends it once, and tells
 * those who watch.
 */

import { bounds } from "../http/bounds.ts";
import type { Cors } from "../http/cors.ts";
import type { ErrorCode } from "../http/errors.ts";
import { contentLength, fieldsOf, rawResponse, respond, type WireResponse } from "../http/respond.ts";
import { type Response, errorResponse } from "../http/response.ts";
import type { Decision } from "../limits/decision.ts";
import type { Observers } from "../observe/observers.ts";
import { deprecationField, successorLink, sunsetField } from "../pets/get.ts";
import type { RequestContext } from "./context.ts";
import { petRoute } from "./routes.ts";


export interface ReplyParts {
  readonly cors: Cors;
  readonly observers: Observers | undefined;
}

export class Reply {
  readonly #parts: ReplyParts;
  /** The link of getPet's answers, for the base where requests nearly always arrive: the one before. */
  #successor = { linkBase: "", link: "" };

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
    return rawResponse(wire);
  }

  #wire(context: RequestContext, response: Response): WireResponse {
    const { incoming, rate } = context;
    const { status, content } = response;
    const fields = fieldsOf(response, context.requestId, rate);
    if (context.route === petRoute.pattern) {
      const link = this.#successorLink(context.arrival.linkBase);
      fields.push("Deprecation", deprecationField, "Sunset", sunsetField, "Link", link);
    }
    if (!this.#parts.cors.isOff) {
      this.#parts.cors.appendFields(fields, incoming.headers.origin);
    }
    return { status, fields, content: incoming.method === "HEAD" ? undefined : content };
  }

  #successorLink(linkBase: string): string {
    if (linkBase !== this.#successor.linkBase) {
      this.#successor = { linkBase, link: successorLink(linkBase) };
    }
    return this.#successor.link;
  }

  /** The whole answer to something that is no request, as bytes. */
  damage(code: ErrorCode, requestId: string, address: string, rate: Decision): string {
    const response = errorResponse(code);
    const { status, content } = response;
    this.#parts.observers?.observeDamage({ requestId, address, status, contentBytes: contentLength(content) });
    return rawResponse({ status, fields: fieldsOf(response, requestId, rate), content });
  }
}
