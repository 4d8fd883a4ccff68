/** A plain request, whose content may still be arriving, and its response, which goes out in one write. */

import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";

import { ByteBuilder } from "../base/byte-builder.ts";
import type { MaybePromise } from "../base/when-ready.ts";
import type { Content, Exchange } from "../http/exchange.ts";
import { headLines, type Response } from "../http/response.ts";
import type { PlainRequest } from "./plain-request.ts";

/** The lines of the fields that every response has. */
export class CommonLines {
  /** The last lines of a head that keeps the connection, with the empty line after them. */
  readonly keepAlive: string;
  #second = 0;
  #date = "";

  constructor(idleMs: number) {
    this.keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleMs / 1_000)}\r\n\r\n`;
  }

  date(): string {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== this.#second) {
      this.#second = now;
      this.#date = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`;
    }
    return this.#date;
  }
}

export class PlainExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly fault = undefined;
  keepsConnection = true;
  readonly #socket: Socket;
  readonly #lines: CommonLines;
  /** Undefined until all of it has come, or cannot come any more. */
  #content: Content | undefined;
  /** The bytes of content that have come, if the first packet did not have all of it. */
  #joined: ByteBuilder | undefined = undefined;
  #missingBytes: number;
  #onContent: ((content: Content) => void) | undefined = undefined;
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
    this.#missingBytes = fields.contentLength - content.length;
    this.#content = content;
    if (this.#missingBytes > 0) {
      this.#content = undefined;
      this.#joined = new ByteBuilder();
      this.#joined.append(content);
    }
    this.#onSent = onSent;
  }

  get socketAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get isOpen(): boolean {
    return !this.#isSent && !this.#socket.destroyed;
  }

  get awaitsContent(): boolean {
    return this.#content === undefined;
  }

  /** A plain request has no field twice. */
  countField(name: string): number {
    return this.headers[name] === undefined ? 0 : 1;
  }

  /** Takes no bound, because a plain request is shorter than the bound of any content. */
  readContent(): MaybePromise<Content> {
    return this.#content ?? new Promise((resolve) => (this.#onContent = resolve));
  }

  /** Takes the bytes of a packet that are content of this request, and returns the others. */
  receive(packet: Buffer): Buffer {
    const piece = packet.subarray(0, this.#missingBytes);
    this.#missingBytes -= piece.length;
    this.#joined?.append(piece);
    if (this.#missingBytes === 0 && this.#joined !== undefined) {
      this.endContent(this.#joined.bytes);
    }
    return packet.subarray(piece.length);
  }

  /** The content is whole, or will never be. */
  endContent(content: Content): void {
    if (this.awaitsContent) {
      this.#content = content;
      this.#onContent?.(content);
    }
  }

  endConnection(): void {
    this.keepsConnection = false;
  }

  /** If content is still to come, the connection ends, because that content must not be read as a request. */
  send({ status, content }: Response, fields: readonly string[]): void {
    const socket = this.#socket;
    this.keepsConnection &&= this.#missingBytes === 0;
    let head = headLines(status, fields) + this.#lines.date();
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
