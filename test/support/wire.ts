/**
 * A client that sends bytes as they are given and reads responses as they come. It corrects nothing and hides nothing.
 * Every wait has a time-out, so that a test which would hang fails.
 */

import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";

import { parseHead, type WireResponse } from "./wire-response.ts";

/** The time-out of each wait, far longer than any test needs. */
const guardMs = 20_000;

export class Wire {
  readonly socket: Socket;
  #chunks: Buffer[] = [];
  #byteCount = 0;
  #ending: "end" | "reset" | undefined;
  #wake: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk) => {
      this.#chunks.push(chunk);
      this.#byteCount += chunk.length;
      this.#wake?.();
    });
    socket.on("end", () => this.#end("end"));
    socket.on("error", () => this.#end("reset"));
    socket.on("close", () => this.#end("end"));
  }

  /** @param isSecure over TLS */
  static open(port: number, { isSecure = process.env["ANIMAL_STORE_TEST_TLS"] !== undefined } = {}): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const plain = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
      const socket = isSecure ? connectSecurely({ socket: plain, rejectUnauthorized: false }) : plain;
      plain.once("error", reject);
      socket.once("error", reject);
      socket.once(isSecure ? "secureConnect" : "connect", () => {
        socket.off("error", reject);
        resolve(new Wire(socket));
      });
    });
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    return this;
  }

  /** Sends no more, but goes on reading. */
  halfClose(): this {
    this.socket.end();
    return this;
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The next response, whole. @param method of the request: a response to HEAD has no content */
  async response(method = "GET"): Promise<WireResponse> {
    for (;;) {
      const begun = this.#received();
      const headEnd = begun.indexOf("\r\n\r\n");
      if (headEnd !== -1) {
        const head = parseHead(begun.subarray(0, headEnd).toString("latin1"));
        const hasContent = method !== "HEAD" && head.status >= 200 && head.status !== 204 && head.status !== 304;
        const length = hasContent ? Number(head.value("content-length")) : 0;
        if (Number.isNaN(length)) {
          throw new Error(`Cannot read the response: it has no Content-Length: ${head.text}`);
        }
        const end = headEnd + 4 + length;
        while (this.#byteCount < end && this.#ending === undefined) {
          await this.#more();
        }
        if (this.#byteCount >= end) {
          const received = this.#received();
          const content = received.subarray(headEnd + 4, end);
          this.#chunks = [received.subarray(end)];
          this.#byteCount -= end;
          return { ...head, content: content.toString("utf8"), contentBytes: content.length };
        }
      }
      if (this.#ending !== undefined) {
        throw new Error(`Cannot read the response: ${this.#ending} after ${JSON.stringify(this.pending)}`);
      }
      await this.#more();
    }
  }

  /** Resolves when the server has closed its side, to how it did and to what was not read as a response. */
  async closed(): Promise<{ readonly ending: "end" | "reset"; readonly rest: string }> {
    while (this.#ending === undefined) {
      await this.#more();
    }
    this.socket.destroy();
    return { ending: this.#ending, rest: this.pending };
  }

  /** What has come and has not been read as a response. */
  get pending(): string {
    return this.#received().toString();
  }

  /** Joins the chunks, which takes time, so it is not done for every chunk. */
  #received(): Buffer {
    if (this.#chunks.length !== 1) {
      this.#chunks = [Buffer.concat(this.#chunks)];
    }
    return this.#chunks[0]!; // There is one now.
  }

  #end(ending: "end" | "reset"): void {
    this.#ending ??= ending;
    this.#wake?.();
  }

  #more(): Promise<void> {
    return new Promise((resolve, reject) => {
      const guard = setTimeout(() => reject(new Error(`nothing comes any more; so far: ${this.pending}`)), guardMs);
      this.#wake = () => {
        clearTimeout(guard);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

/** Sends the bytes on a connection of their own, and returns the one response. */
export async function exchange(port: number, bytes: string | Uint8Array, method?: string): Promise<WireResponse> {
  const wire = await Wire.open(port);
  try {
    return await wire.send(bytes).response(method ?? String(bytes).split(" ", 1)[0]);
  } finally {
    wire.destroy();
  }
}

export interface RequestParts {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /** "" sends none. */
  readonly key?: string;
  /** Whole lines. Host is there unless it is among them. */
  readonly fields?: readonly string[];
  readonly content?: string | Uint8Array;
}

/** A request as bytes. Content gets its length, unless a field says how long it is. */
export function request(parts: RequestParts): Buffer {
  const { method = "GET", target = "/v1/pets", version = "1.1", key = "", fields = [], content = "" } = parts;
  const contentBytes = Buffer.from(content);
  const isFramed = fields.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const lines = [
    `${method} ${target} HTTP/${version}`,
    ...(fields.some((line) => /^host:/i.test(line)) ? [] : ["Host: localhost"]),
    ...(key === "" ? [] : [`Authorization: Bearer ${key}`]),
    ...(contentBytes.length === 0 || isFramed ? [] : [`Content-Length: ${contentBytes.length}`]),
    ...fields,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), contentBytes]);
}

/** A NewPet of exactly so many bytes. */
export function petOfBytes(byteCount: number): string {
  const start = '{"name":"Rex","categoryId":5';
  return `${start}${" ".repeat(byteCount - start.length - 1)}}`;
}

export const rex = '{"name":"Rex","categoryId":5}';
