/**
 * A request and the way to its response: all that the steps know of HTTP. Whoever has read the request implements it,
 * node:http (wire/node-exchange.ts) or the fast lane (wire/plain-exchange.ts).
 */

import type { IncomingHttpHeaders } from "node:http";

import type { MaybePromise } from "../base/when-ready.ts";
import type { ErrorCode } from "./errors.ts";
import type { MessageFault } from "./message.ts";
import type { Response } from "./response.ts";

/** The client closed the connection: no response can be sent. */
export const clientGone: unique symbol = Symbol("client gone");

/** The whole content of a request, or the code of the error why it cannot be had. */
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
  /** Nothing that follows on the connection is read as a request: it ends with this response (RFC 9112, 11.2). */
  endConnection(): void;
  /** Drops content that has not been read. @param fields all of them, in the place of the response's own */
  send(response: Response, fields: string[]): MaybePromise<void>;
  destroy(): void;
}

export interface RequestHandler {
  /** Returns at once. */
  readonly onRequest: (exchange: Exchange) => void;
  /**
   * Bytes that are not a request, the first of which came `ageMs` ago. Makes the whole response, as bytes, when called.
   */
  readonly onClientError: (code: ErrorCode, socketAddress: string | undefined, ageMs: number) => () => string;
}
