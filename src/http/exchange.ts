/**
 * A request and the way to its response: all that the steps know of HTTP. One implementation is over node:http
 * (wire/node-exchange.ts), the other is the fast lane's (wire/plain-exchange.ts).
 */

import type { IncomingHttpHeaders } from "node:http";

import type { MaybePromise } from "../base/when-ready.ts";
import type { ErrorCode } from "./errors.ts";
import type { MessageFault } from "./message.ts";
import type { Response } from "./response.ts";

/** The client closed the connection: no response can be sent. */
export const clientGone: unique symbol = Symbol("client gone");

/** The whole content of a request, or why there is none: the code of an error, or the client has gone. */
export type Content = Uint8Array | ErrorCode | typeof clientGone;

export interface Exchange {
  readonly method: string;
  /** As the client sent it, in any form (RFC 9112, 3.2). */
  readonly target: string;
  /** As node:http has them: by name in lower case, repeated ones joined or dropped. */
  readonly headers: IncomingHttpHeaders;
  /** Undefined if the message is correct HTTP. */
  readonly fault: MessageFault | undefined;
  /** The peer of the connection; undefined if that is closed. */
  readonly socketAddress: string | undefined;
  /** Whether a response can be sent. */
  readonly isOpen: boolean;
  /** How often the field was sent. @param name in lower case */
  countField(name: string): number;
  /** @param bytesMax the bound, inclusive @throws {ContentTakenError} */
  readContent(bytesMax: number): MaybePromise<Content>;
  /** The connection ends with this response: nothing that follows is read as a request (RFC 9112, 11.2). */
  endConnection(): void;
  /** Sends the response. Content not read yet is dropped. @param fields all of them, replacing `response.fields` */
  send(response: Response, fields: string[]): MaybePromise<void>;
  destroy(): void;
}

export interface RequestHandler {
  /** Returns at once. */
  readonly onRequest: (exchange: Exchange) => void;
  /** For bytes that are no request, the first of which came `ageMs` ago. Returns what makes the whole response. */
  readonly onClientError: (code: ErrorCode, socketAddress: string | undefined, ageMs: number) => () => string;
}
