/**
 * The fast lane: plain requests (plain-request.ts), which nearly all are, are read and responded to directly on the
 * socket, in half the time that node:http takes.
 *
 * At the first packet that is not one plain request node:http gets the connection, with that packet, and keeps it. So
 * whatever is doubtful is decided by Node's parser, as without this file.
 */

import type { RequestHandler } from "../http/exchange.ts";
import type { Server, Socket } from "node:net";
import { clearInterval, setInterval } from "node:timers";

import { closeInStages } from "./closing.ts";
import { type CommonLines, PlainExchange } from "./plain-exchange.ts";
import { type PlainFields, type PlainRequest, readPlain } from "./plain-request.ts";

interface Limits {
  readonly fieldsMs: number;
  readonly idleMs: number;
  readonly stalledReaderMs: number;
  readonly timeoutCheckMs: number;
}

/** Of the fields that an idle connection keeps. */
const keptCharactersMax = 1_024;

/** The lanes of a server: each connection begins in one. */
export class FastLanes {
  readonly handler: RequestHandler;
  readonly limits: Limits;
  readonly lines: CommonLines;
  isStopping = false;
  readonly #lanes = new Map<Socket, Lane>();
  readonly #toNode: (socket: Socket) => void;

  /**
   * Puts itself before the listeners that the server has for the event, which get a connection when it leaves its lane.
   */
  constructor(server: Server, event: "connection" | "secureConnection", handler: RequestHandler, limits: Limits) {
    this.handler = handler;
    this.limits = limits;
    this.lines = commonLines(limits.idleMs);
    const listeners = server.listeners(event);
    this.#toNode = (socket) => listeners.forEach((listener) => listener.call(server, socket));
    server.removeAllListeners(event);
    server.on(event, (socket: Socket) => {
      this.#lanes.set(socket, new Lane(socket, this));
      socket.once("close", () => this.#lanes.delete(socket));
    });
    const timer = setInterval(() => this.#lanes.forEach((lane) => lane.check()), limits.timeoutCheckMs).unref();
    server.on("close", () => clearInterval(timer));
  }

  handOver(socket: Socket): void {
    this.#lanes.delete(socket);
    this.#toNode(socket);
  }

  /** From here on each response closes its connection. */
  stop(): void {
    this.isStopping = true;
    this.#lanes.forEach((lane) => lane.stop());
  }

  closeIdle(): void {
    this.#lanes.forEach((lane, socket) => lane.isIdle && socket.destroy());
  }

  closeAll(): void {
    this.#lanes.forEach((_, socket) => socket.destroy());
  }
}

function commonLines(idleMs: number): CommonLines {
  let second = 0;
  let line = "";
  return {
    keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleMs / 1_000)}\r\n\r\n`,
    date: () => {
      const now = Math.floor(Date.now() / 1_000);
      if (now !== second) {
        second = now;
        line = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`;
      }
      return line;
    },
  };
}

/** A connection, as long as it is in the lane. */
class Lane {
  readonly #socket: Socket;
  readonly #lanes: FastLanes;
  /** Those of the last request, unless they are long. */
  #fields: PlainFields | undefined = undefined;
  /** Its response is due. */
  #exchange: PlainExchange | undefined = undefined;
  /** What came while a response was due, or a request whose content is not whole. */
  #held: Buffer | undefined = undefined;
  #hasRead = false;
  #hasEnded = false;
  #quietMs = 0;

  constructor(socket: Socket, lanes: FastLanes) {
    this.#socket = socket;
    this.#lanes = lanes;
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("timeout", this.#onTimeout);
  }

  /** Whether no response is due, or being sent, and no request has begun. */
  get isIdle(): boolean {
    return this.#exchange === undefined && this.#held === undefined && this.#socket.writableLength === 0;
  }

  stop(): void {
    if (this.#held === undefined) {
      this.#exchange?.endConnection();
    }
  }

  check(): void {
    const { limits: { fieldsMs, idleMs, stalledReaderMs, timeoutCheckMs } } = this.#lanes;
    this.#quietMs = this.isIdle ? this.#quietMs + timeoutCheckMs : 0;
    if (this.#quietMs > (this.#hasRead ? idleMs : fieldsMs)) {
      this.#socket.destroy();
    } else if (this.#socket.writableLength > 0 && this.#socket.timeout !== stalledReaderMs) {
      this.#socket.setTimeout(stalledReaderMs);
    } else if (this.#exchange === undefined && this.#held !== undefined) {
      this.#handOver(this.#held);
    }
  }

  readonly #onData = (chunk: Buffer): void => {
    const socket = this.#socket;
    this.#hasRead = true;
    this.#quietMs = 0;
    const packet = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#exchange !== undefined) {
      this.#held = packet;
      this.#exchange.keepsConnection = true;
      socket.pause();
      return;
    }
    const mayRead = !this.#lanes.isStopping && socket.writableLength === 0;
    const request = mayRead ? readPlain(packet, this.#fields) : undefined;
    if (request === undefined) {
      this.#handOver(packet);
    } else if (request === "incomplete") {
      this.#held = packet;
    } else {
      this.#held = undefined;
      this.#handle(request);
    }
  };

  #handle(request: PlainRequest): void {
    this.#fields = request.fields.text.length > keptCharactersMax ? undefined : request.fields;
    this.#exchange = new PlainExchange(this.#socket, this.#lanes.lines, request, this.#onSent);
    this.#lanes.handler.onRequest(this.#exchange);
  }

  readonly #onSent = ({ keepsConnection }: PlainExchange): void => {
    this.#exchange = undefined;
    if (!keepsConnection) {
      this.#socket.off("data", this.#onData);
      this.#socket.end(() => closeInStages(this.#socket)); // Its time begins when the system has the response.
    } else if (this.#held !== undefined) {
      this.#handOver(this.#held);
    } else if (this.#hasEnded) {
      this.#socket.end();
    }
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    if (this.#exchange !== undefined) {
      return;
    }
    if (this.#held === undefined) {
      this.#socket.end();
    } else {
      this.#handOver(this.#held);
    }
  };

  #handOver(packet: Buffer): void {
    const socket = this.#socket;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("timeout", this.#onTimeout);
    this.#lanes.handOver(socket);
    socket.emit("data", packet);
    socket.resume();
    if (this.#hasEnded) {
      socket.emit("end"); // The stream has emitted it, also while it was paused, and will not again.
    }
  }

  /** Not every error closes the socket by itself: not that of a client that renegotiates TLS too often. */
  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  /** If the client has read anything meanwhile, Node begins another time-out instead of emitting it. */
  readonly #onTimeout = (): void => {
    if (this.#socket.writableLength > 0) {
      this.#socket.destroy();
    } else {
      this.#socket.setTimeout(0);
    }
  };
}
