/**
 * A connection that node:http reads, with one request at a time. A request that comes before the response to the one
 * before it is not handled: that response is then the last, as clients must expect (RFC 9112, 9.3.2).
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import type { ErrorCode } from "../http/errors.ts";
import type { RequestHandler } from "../http/exchange.ts";
import { lingeringClose, StalledReaderWatch, stopParsing } from "./closing.ts";
import type { ListenerLimits } from "./listener-limits.ts";
import { NodeExchange } from "./node-exchange.ts";

/** `close` wins over `keep-alive` (RFC 9112, 9.3), which Node obeys only in HTTP/1.1. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

export class Connection {
  readonly #socket: Socket;
  readonly #handler: RequestHandler;
  /** The request under way, or the last one. Undefined once a response has been sent that keeps the connection. */
  #request: NodeExchange | undefined = undefined;
  /** Whether requests that arrive are handled: not after one that ends the connection, nor after a failure. */
  #takesMore = true;
  #isStopping = false;
  readonly #readerWatch = new StalledReaderWatch();

  constructor(socket: Socket, handler: RequestHandler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  /**
   * A request has arrived. The service offers no other protocol, so it ignores `Upgrade` (RFC 9110, 7.8). But Node may
   * have dropped what came behind it in one packet, so its response closes the connection.
   */
  take(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void {
    if (!this.#takesMore) {
      return;
    }
    if (this.owesResponse()) {
      incoming.push = () => false; // Its content is dropped, and Node reads no more of it.
      this.endWithResponse();
      return;
    }
    const { connection, upgrade } = incoming.headers;
    if (this.#isStopping || upgrade !== undefined || (connection !== undefined && closeOption.test(connection))) {
      outgoing.shouldKeepAlive = false;
    }
    if (!outgoing.shouldKeepAlive) {
      this.#stopParsing();
    }
    const request = new NodeExchange(incoming, outgoing, expectsContinue);
    this.#request = request;
    this.#handler.onRequest(request);
    if (this.owesResponse()) {
      outgoing.once("close", () => this.#forget(request));
    } else {
      this.#forget(request);
    }
  }

  /** An idle connection must not hold its last request in memory: a client can have thousands of connections. */
  #forget(request: NodeExchange): void {
    if (request.outgoing.shouldKeepAlive && this.#request === request) {
      this.#request = undefined;
    }
  }

  /**
   * The client sent bytes that are no request, or sent them too late. An error is the last response, after one due.
   * @param fieldsMs how long after the first byte of a request Node reports that its fields come too late
   */
  fail(error: NodeJS.ErrnoException, fieldsMs: number): void {
    const code = errorCodeOf(error);
    if (code === undefined || this.#socket.bytesRead === 0) {
      this.#socket.destroy(); // The client reset it or never sent a byte: it does not wait for a response.
      return;
    }
    const request = this.#request;
    if (request?.incoming.complete === false) {
      this.#stopParsing();
      request.failContent(code); // Its response closes the connection, since its content has not come.
    } else if (this.#takesMore && request?.outgoing.shouldKeepAlive !== false) {
      this.#stopParsing();
      const ageMs = code === "request_timeout" ? fieldsMs : 0;
      const respond = this.#handler.onClientError(code, this.#socket.remoteAddress, ageMs);
      this.#afterResponse(() => {
        const bytes = respond(); // Even if nobody can receive it, because this call counts it.
        if (this.#socket.writable) {
          this.#socket.write(bytes, () => lingeringClose(this.#socket));
        }
      });
    }
  }

  /** To be called every `timeoutCheckMs`. */
  check(limits: ListenerLimits): void {
    this.#readerWatch.check(this.#socket, limits);
  }

  stop(): void {
    this.#isStopping = true;
    if (this.#request?.outgoing.headersSent === false) {
      this.endWithResponse();
    }
  }

  /** Whether a response is being made, or sent to a client that is slow to read it. */
  owesResponse(): boolean {
    const outgoing = this.#request?.outgoing;
    return outgoing !== undefined && !isSent(outgoing) && !outgoing.destroyed && !outgoing.writableFinished;
  }

  /** Whether Node may count the connection as idle although the client has not yet read the whole response. */
  seemsIdle(): boolean {
    return this.#socket.writableLength > 0 || (!this.#takesMore && !this.owesResponse());
  }

  /** The response that is due is the last one, and says so unless its fields have been sent. */
  endWithResponse(): void {
    this.#stopParsing();
    const outgoing = this.#request?.outgoing;
    if (outgoing !== undefined && this.owesResponse() && !outgoing.headersSent) {
      outgoing.shouldKeepAlive = false;
    } else {
      this.#afterResponse(() => lingeringClose(this.#socket));
    }
  }

  #afterResponse(step: () => void): void {
    if (this.owesResponse()) {
      this.#request?.outgoing.once("close", step);
    } else {
      step();
    }
  }

  #stopParsing(): void {
    this.#takesMore = false;
    stopParsing(this.#socket);
  }
}

/**
 * Whether the operating system has taken the response, but for a little. If more than the socket's high-water mark
 * waited, Node would pause its parser at the next request, and over TLS report what follows that as malformed.
 */
function isSent({ writableEnded, socket }: ServerResponse): boolean {
  return writableEnded && socket?.writableNeedDrain === false;
}

/** The code for an error that Node reports about a connection; undefined if the connection broke. */
function errorCodeOf({ code = "" }: NodeJS.ErrnoException): ErrorCode | undefined {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return "request_timeout";
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return "header_fields_too_large";
  }
  return code.startsWith("HPE_") ? "malformed_request" : undefined;
}
