/** A request that node:http or an embedding program has read, and its response, which is sent exactly once. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { ByteBuilder } from "../base/byte-builder.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import { ContentTakenError } from "../http/content-taken-error.ts";
import type { ErrorCode } from "../http/errors.ts";
import { clientGone, type Content, type Exchange } from "../http/exchange.ts";
import { countField, type MessageFault, messageFault } from "../http/message.ts";
import type { Response } from "../http/response.ts";
import { closeAfterResponse, stopParsing } from "./closing.ts";

export class NodeExchange implements Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly fault: MessageFault | undefined;
  readonly #socket: Socket | undefined;
  readonly #rawHeaders: readonly string[];
  readonly #expectsContinue: boolean;
  #contentError: ErrorCode | undefined = undefined;
  /** Ends the reading of content with an error; undefined while none is being read. */
  #onContentError: ((code: ErrorCode) => void) | undefined = undefined;

  /** @param expectsContinue the client waits for `100 Continue` before it sends its content */
  constructor(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue = false) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.method = incoming.method ?? "";
    this.target = incoming.url ?? "";
    this.headers = incoming.headers;
    this.#socket = socketOf(incoming);
    this.#rawHeaders = rawHeadersOf(incoming);
    this.fault = messageFault(incoming, this.#rawHeaders);
    this.#expectsContinue = expectsContinue;
  }

  get socketAddress(): string | undefined {
    return this.#socket?.remoteAddress;
  }

  /** An embedding program may have responded already, for instance after a time-out of its own. */
  get isOpen(): boolean {
    return !this.outgoing.destroyed && !this.outgoing.headersSent;
  }

  countField(name: string): number {
    return countField(this.#rawHeaders, name);
  }

  /** The only place that sends `100 Continue` (RFC 9110, 10.1.1). */
  readContent(bytesMax: number): MaybePromise<Content> {
    const { incoming } = this;
    // That somebody else has read empty content shows only in `readableEnded`.
    if (incoming.readableDidRead || incoming.readableEnded || incoming.readableEncoding || isParsed(incoming)) {
      throw new ContentTakenError();
    }
    // The content may fail, or the client leave, while the limiter decides.
    if (this.#contentError !== undefined) {
      return this.#contentError;
    }
    if (incoming.destroyed) {
      return clientGone;
    }
    if (this.#expectsContinue) {
      this.outgoing.writeContinue();
    }
    return this.#collect(bytesMax);
  }

  /**
   * Collects the bytes that arrive, up to the bound. Not in an array of pieces: V8 would soon make such arrays in the
   * old generation, where each keeps its request alive. Creates then take 1.6 times the processor time.
   */
  #collect(bytesMax: number): Promise<Content> {
    const { incoming } = this;
    return new Promise((resolve) => {
      const content = new ByteBuilder();
      this.#onContentError = resolve;
      // Node empties a request after its response unless it was read from. This counts as read. Mocks lack `read`.
      incoming.read?.(0);
      incoming.on("data", (piece: Uint8Array) => {
        if (content.length + piece.length > bytesMax) {
          resolve("body_too_large");
        } else {
          content.append(piece);
        }
      });
      incoming.on("end", () => resolve(content.bytes));
      incoming.on("close", () => resolve(clientGone));
      incoming.on("error", () => resolve(clientGone)); // Only an adapter's emits one; unheard, it is thrown.
    });
  }

  /** The content, which is being read or will be, is malformed, or has not arrived in time. */
  failContent(code: ErrorCode): void {
    this.#contentError = code;
    this.#onContentError?.(code);
  }

  endConnection(): void {
    stopParsing(this.#socket);
    this.outgoing.shouldKeepAlive = false;
  }

  /** Waits a turn for unread content: if it came in one packet with the fields, the connection can be kept. */
  send(response: Response, fields: string[]): MaybePromise<void> {
    const { incoming, outgoing } = this;
    if (isWhole(incoming) || !announcesContent(incoming)) {
      this.#write(response, fields);
      return;
    }
    incoming.on?.("error", () => undefined); // As in `#collect`: the response says all that is to be said.
    incoming.resume?.();
    return eventLoopTurn().then(() => {
      if (!outgoing.headersSent) { // Otherwise an embedding program has sent a response of its own in this turn.
        outgoing.shouldKeepAlive &&= isWhole(incoming);
        this.#write(response, fields);
      }
    });
  }

  /**
   * Says `keep-alive` in the two cases in which Node would close the connection by itself, and yet handle what follows
   * on it: HTTP/1.0 with a response that has no Content-Length, such as a 204, and `Expect` without a 100.
   */
  #write(response: Response, fields: string[]): void {
    const { outgoing, method, headers, incoming: { httpVersion } } = this;
    if (!outgoing.shouldKeepAlive) {
      closeAfterResponse(this.#socket);
    } else if (httpVersion === "1.0" || headers.expect !== undefined) {
      fields.push("Connection", "keep-alive");
    }
    outgoing.writeHead(response.status, fieldsByName(fields));
    outgoing.end(method === "HEAD" ? undefined : response.content);
  }

  destroy(): void {
    this.outgoing.destroy();
  }
}

/** Adapters from other kinds of requests make an IncomingMessage without a socket. */
export function socketOf({ socket }: { readonly socket?: Socket | null }): Socket | undefined {
  return socket ?? undefined;
}

/** A request of an adapter, such as serverless-http, or of a mock may have `headers` but no `rawHeaders`. */
function rawHeadersOf({ rawHeaders = [], headers }: Partial<IncomingMessage>): readonly string[] {
  return rawHeaders.length > 0 ? rawHeaders : Object.entries(headers ?? {}).flat().map(String);
}

/** An imitated request, such as one of Fastify's `inject`, has no `complete`; but it ends. */
function isWhole({ complete, readableEnded }: IncomingMessage): boolean {
  return complete || readableEnded;
}

/** A mock that is no stream may have its content as an object in `body`, where a body parser would leave it. */
function isParsed({ read, body }: { readonly read?: unknown; readonly body?: unknown }): boolean {
  return read === undefined && Object.keys(body ?? {}).length > 0;
}

/** Whether the request is chunked, or declares a length other than 0 (RFC 9112, 6.3). */
function announcesContent({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * The fields as an object, the only form that every middleware which wraps `writeHead` understands. Compression,
 * sessions and others misread a flat list, as pairs or as fields named 0, 1, 2, and lose the response.
 */
function fieldsByName(list: readonly string[]): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  for (let index = 0; index < list.length; index += 2) {
    const name = list[index]!; // The list has pairs only.
    const value = list[index + 1]!;
    const before = fields[name];
    fields[name] = before === undefined ? value : [before, value].flat();
  }
  return fields;
}
