/** A plain request, and its response, which is one write. */

import { type IncomingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import type { Exchange } from "../http/exchange.ts";
import type { PlainRequest } from "./plain-request.ts";
import type { Response } from "../http/response.ts";

/** Fields that every response has, as lines. */
export interface CommonLines {
  date(): string;
  /** The last ones, with the empty line. */
  readonly keepAlive: string;
}

export class PlainExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly fault = undefined;
  keepsConnection = true;
  readonly #socket: Socket;
  readonly #lines: CommonLines;
  readonly #content: Uint8Array;
  readonly #onSent: (exchange: PlainExchange) => void;
  #isSent = false;

  /** @param onSent called when the response has been given to the socket */
  constructor(
    socket: Socket,
    lines: CommonLines,
    { method, target, fields, content }: PlainRequest,
    onSent: (exchange: PlainExchange) => void,
  ) {
    this.method = method;
    this.target = target;
    this.headers = fields.headers;
    this.#socket = socket;
    this.#lines = lines;
    this.#content = content;
    this.#onSent = onSent;
  }

  get socketAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get isOpen(): boolean {
    return !this.#isSent && !this.#socket.destroyed;
  }

  /** No field is there twice. */
  countField(name: string): number {
    return this.headers[name] === undefined ? 0 : 1;
  }

  /** A plain request is shorter than the bound of any content. */
  readContent(): Uint8Array {
    return this.#content;
  }

  endConnection(): void {
    this.keepsConnection = false;
  }

  send({ status, content }: Response, fields: readonly string[]): void {
    const socket = this.#socket;
    let head = status === 200 ? "HTTP/1.1 200 OK\r\n" : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let index = 0; index < fields.length; index += 2) {
      head += `${fields[index]}: ${fields[index + 1]}\r\n`;
    }
    head += this.#lines.date();
    head += this.keepsConnection ? this.#lines.keepAlive : "Connection: close\r\n\r\n";
    if (content === undefined || this.method === "HEAD") {
      socket.write(head, "latin1");
    } else if (typeof content === "object") {
      socket.cork();
      socket.write(head, "latin1");
      socket.write(content);
      socket.uncork();
    } else {
      socket.write(head + content);
    }
    this.#isSent = true;
    this.#onSent(this);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
