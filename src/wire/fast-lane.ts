/**
 * The fast lane: plain requests (plain-request.ts), which nearly all are, are read and responded to directly on the
 * socket, which takes less time than node:http does. They are served one after another: a request that a client sends
 * ahead is read when the operating system has the response before it.
 *
 * A connection whose next bytes are no plain request goes to node:http, with those bytes and for good. So Node's parser
 * decides whatever is doubtful, as it would without this file.
 */

import type { Server, Socket } from "node:net";
import { setImmediate } from "node:timers";

import { clientGone, type RequestHandler } from "../http/exchange.ts";
import { lingeringClose, StalledReaderWatch } from "./closing.ts";
import type { ListenerLimits } from "./listener-limits.ts";
import { CommonLines, PlainExchange } from "./plain-exchange.ts";
import { type PlainFields, readPlain } from "./plain-request.ts";

/** An idle connection holds the fields of its last request only if that is no longer than this. */
const keptBytesMax = 1_024;

/** The lanes of a server: each connection begins in one. */
export class FastLanes {
  readonly handler: RequestHandler;
  readonly limits: ListenerLimits;
  readonly lines: CommonLines;
  isStopping = false;
  readonly #lanes = new Map<Socket, Lane>();
  readonly #toNode: (socket: Socket) => void;

  /** Replaces the server's listeners for new connections. They get a connection when it leaves its lane. */
  constructor(server: Server, event: string, handler: RequestHandler, limits: ListenerLimits) {
    this.handler = handler;
    this.limits = limits;
    this.lines = new CommonLines(limits.idleMs);
    const listeners = server.listeners(event);
    this.#toNode = (socket) => listeners.forEach((listener) => listener.call(server, socket));
    server.removeAllListeners(event);
    server.on(event, (socket: Socket) => {
      const lane = new Lane(socket, this);
      this.#lanes.set(socket, lane);
      socket.once("close", () => {
        this.#lanes.delete(socket);
        lane.onClosed();
      });
    });
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

  /** Closes connections that have timed out. Call it every `timeoutCheckMs`, after what has arrived was read. */
  check(): void {
    this.#lanes.forEach((lane) => lane.check());
  }

  closeIdle(): void {
    this.#lanes.forEach((lane, socket) => lane.isIdle && socket.destroy());
  }

  closeAll(): void {
    this.#lanes.forEach((_, socket) => socket.destroy());
  }
}

/** A connection, as long as it is in the lane. */
class Lane {
  readonly #socket: Socket;
  readonly #lanes: FastLanes;
  /** The fields of the last request, unless it is long. */
  #fields: PlainFields | undefined = undefined;
  /** The request whose response is due. */
  #exchange: PlainExchange | undefined = undefined;
  /**
   * Bytes that have come and are no part of a request yet. The socket is paused while they wait for the response before
   * them. It is not paused while the rest of their own request has to come.
   */
  #unread: Buffer | undefined = undefined;
  #hasRead = false;
  #hasEnded = false;
  /** For how long the client has sent no request, or not the rest of its content. */
  #quietMs = 0;
  readonly #readerWatch = new StalledReaderWatch();

  constructor(socket: Socket, lanes: FastLanes) {
    this.#socket = socket;
    this.#lanes = lanes;
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
  }

  /** Whether no response is due or being sent, no request has begun to arrive, and the connection is not closing. */
  get isIdle(): boolean {
    const { writableLength, writableEnded } = this.#socket;
    return this.#exchange === undefined && this.#unread === undefined && writableLength === 0 && !writableEnded;
  }

  stop(): void {
    this.#exchange?.endConnection();
  }

  onClosed(): void {
    this.#exchange?.endContent(clientGone);
  }

  check(): void {
    const socket = this.#socket;
    const exchange = this.#exchange;
    const { limits } = this.#lanes;
    const isUpload = exchange?.awaitsContent === true;
    this.#quietMs = this.isIdle || isUpload ? this.#quietMs + limits.timeoutCheckMs : 0;
    if (isUpload) {
      if (this.#quietMs > limits.requestMs) {
        exchange.endContent("request_timeout");
      }
    } else if (this.#quietMs > (this.#hasRead ? limits.idleMs : limits.fieldsMs)) {
      socket.destroy();
    } else if (this.#unread !== undefined && !socket.isPaused()) {
      this.#handOver(this.#unread);
    } else {
      this.#readerWatch.check(socket, limits);
    }
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#hasRead = true;
    const packet = this.#exchange?.awaitsContent === true ? this.#exchange.receive(chunk) : chunk;
    if (packet.length === 0) {
      return;
    }
    this.#unread = this.#unread === undefined ? packet : Buffer.concat([this.#unread, packet]);
    if (this.#exchange === undefined && this.#socket.writableLength === 0) {
      this.#read(this.#unread);
      return;
    }
    this.#socket.pause();
    if (this.#exchange === undefined) {
      this.#readLater();
    }
  };

  /** Reads the next request once the operating system has the last response, and after other connections' turns. */
  #readLater(): void {
    this.#socket.write("", () => setImmediate(this.#readAhead));
  }

  readonly #readAhead = (): void => {
    if (this.#unread === undefined || this.#socket.destroyed) {
      return;
    }
    const isCut = !this.#unread.includes("\r\n\r\n") && !this.#hasEnded;
    if (!isCut) {
      this.#read(this.#unread);
    }
    if (isCut || this.#unread === undefined) {
      this.#socket.resume();
    }
  };

  #read(packet: Buffer): void {
    const request = readPlain(packet, this.#fields);
    if (request === undefined) {
      this.#handOver(packet);
      return;
    }
    const { fields, packetBytes } = request;
    this.#unread = undefined;
    if (packetBytes < packet.length) {
      this.#unread = packet.subarray(packetBytes);
      this.#socket.pause();
    }
    this.#fields = packetBytes > keptBytesMax ? undefined : fields;
    this.#quietMs = 0;
    this.#exchange = new PlainExchange(this.#socket, this.#lanes.lines, request, this.#onSent);
    if (this.#lanes.isStopping) {
      this.#exchange.endConnection();
    }
    if (this.#hasEnded) {
      this.#exchange.endContent("malformed_request"); // The client has closed its side: no more content comes.
    }
    this.#lanes.handler.onRequest(this.#exchange);
  }

  readonly #onSent = ({ keepsConnection }: PlainExchange): void => {
    this.#exchange = undefined;
    if (!keepsConnection) {
      this.#unread = undefined;
      this.#socket.off("data", this.#onData);
      this.#socket.end(() => lingeringClose(this.#socket)); // Its timer starts when the system has the response.
    } else if (this.#unread !== undefined) {
      this.#readLater();
    } else if (this.#hasEnded) {
      this.#socket.end();
    }
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    if (this.#exchange !== undefined) {
      this.#exchange.endContent("malformed_request");
    } else if (this.#unread === undefined) {
      this.#socket.end();
    } else if (!this.#socket.isPaused()) {
      this.#handOver(this.#unread);
    }
  };

  #handOver(packet: Buffer): void {
    const socket = this.#socket;
    this.#unread = this.#fields = undefined; // The listener of `close` holds this object until the connection ends.
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    // Node's parser would get new bytes before those that the stream still holds, so these are read here first.
    socket.pause();
    const held = socket.read() as Buffer | null;
    this.#lanes.handOver(socket);
    socket.resume(); // Before the packet is emitted: Node's parser may pause the socket at it.
    socket.emit("data", held === null ? packet : Buffer.concat([packet, held]));
    if (this.#hasEnded) {
      socket.emit("end"); // The stream has emitted `end` already, and will not do so again.
    }
  }

  /** Not every error closes the socket by itself: for example, a client that renegotiates TLS too often. */
  readonly #onError = (): void => {
    this.#socket.destroy();
  };
}
