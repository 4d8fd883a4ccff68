/**
 * The fast lane: plain requests (plain-request.ts), which nearly all are, are read and responded to directly on the
 * socket, which takes less time than node:http does. They are served one after another: a request that a client sends
 * ahead is read when the operating system has the response before it.
 *
 * A connection whose next bytes are no plain request goes to node:http, with those bytes and for good. So Node's parser
 * decides whatever is doubtful, as it would without this file.
 *
 * A connection in the lane has one of these states:
 *
 *     state     what happens                                   next state
 *     reading   a request comes                                handling
 *               bytes come before the system has a response    sending, until it has it
 *               the client ends, or the rest comes too late    ending
 *     handling  the response is sent, and keeps it             reading, or sending if more has come meanwhile
 *               the response is sent, and closes it            ending
 *     sending   the system has the response                    handling, or reading if the request is cut
 *     any       what comes is no plain request                 ending: node:http has the connection
 *
 * The socket is paused while bytes wait that were sent ahead: always in `sending`, and in `handling` if there are some.
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

type State =
  /** `begun` has the first bytes of a request that was sent ahead, and whose rest has to come. */
  | { readonly kind: "reading"; readonly begun: Buffer | undefined }
  /** A response is due. `ahead` is what has come behind its request. */
  | { readonly kind: "handling"; readonly exchange: PlainExchange; ahead: Buffer | undefined }
  | { readonly kind: "sending"; ahead: Buffer }
  /** Nothing more is read here. */
  | { readonly kind: "ending" };

const idle: State = { kind: "reading", begun: undefined };
const ending: State = { kind: "ending" };

/** A connection, as long as it is in the lane. */
class Lane {
  readonly #socket: Socket;
  readonly #lanes: FastLanes;
  /** The fields of the last request, unless it is long. */
  #fields: PlainFields | undefined = undefined;
  #state: State = idle;
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
    return this.#state === idle && writableLength === 0 && !writableEnded;
  }

  stop(): void {
    if (this.#state.kind === "handling") {
      this.#state.exchange.endConnection();
    }
  }

  onClosed(): void {
    if (this.#state.kind === "handling") {
      this.#state.exchange.endContent(clientGone);
    }
  }

  check(): void {
    const socket = this.#socket;
    const state = this.#state;
    const { limits } = this.#lanes;
    const upload = state.kind === "handling" && state.exchange.awaitsContent ? state.exchange : undefined;
    this.#quietMs = this.isIdle || upload !== undefined ? this.#quietMs + limits.timeoutCheckMs : 0;
    if (upload !== undefined) {
      if (this.#quietMs > limits.requestMs) {
        upload.endContent("request_timeout");
      }
    } else if (this.#quietMs > (this.#hasRead ? limits.idleMs : limits.fieldsMs)) {
      socket.destroy();
    } else if (state.kind === "reading" && state.begun !== undefined) {
      this.#handOver(state.begun);
    } else {
      this.#readerWatch.check(socket, limits);
    }
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#hasRead = true;
    const state = this.#state;
    if (state.kind === "reading") {
      const packet = joined(state.begun, chunk);
      if (this.#socket.writableLength === 0) {
        this.#read(packet);
      } else {
        this.#socket.pause();
        this.#readLater(packet);
      }
    } else if (state.kind === "handling") {
      const ahead = state.exchange.awaitsContent ? state.exchange.receive(chunk) : chunk;
      if (ahead.length > 0) {
        state.ahead = joined(state.ahead, ahead);
        this.#socket.pause();
      }
    } else if (state.kind === "sending") {
      state.ahead = joined(state.ahead, chunk);
    }
  };

  /** Reads the next request once the operating system has the last response, and after other connections' turns. */
  #readLater(ahead: Buffer): void {
    this.#state = { kind: "sending", ahead };
    this.#socket.write("", () => setImmediate(this.#readAhead));
  }

  readonly #readAhead = (): void => {
    if (this.#state.kind !== "sending" || this.#socket.destroyed) {
      return;
    }
    const { ahead } = this.#state;
    const isCut = !ahead.includes("\r\n\r\n") && !this.#hasEnded;
    if (isCut) {
      this.#state = { kind: "reading", begun: ahead };
    } else {
      this.#read(ahead);
    }
    if (!this.#mustWait()) {
      this.#socket.resume();
    }
  };

  /** Whether bytes that were sent ahead wait, or are no longer ours to read. */
  #mustWait(): boolean {
    const state = this.#state;
    return state.kind === "handling" ? state.ahead !== undefined : state.kind !== "reading";
  }

  #read(packet: Buffer): void {
    const request = readPlain(packet, this.#fields);
    if (request === undefined) {
      this.#handOver(packet);
      return;
    }
    const { fields, packetBytes } = request;
    const exchange = new PlainExchange(this.#socket, this.#lanes.lines, request, this.#onSent);
    const ahead = packetBytes < packet.length ? packet.subarray(packetBytes) : undefined;
    if (ahead !== undefined) {
      this.#socket.pause();
    }
    this.#state = { kind: "handling", exchange, ahead };
    this.#fields = packetBytes > keptBytesMax ? undefined : fields;
    this.#quietMs = 0;
    if (this.#lanes.isStopping) {
      exchange.endConnection();
    }
    if (this.#hasEnded) {
      exchange.endContent("malformed_request"); // The client has closed its side: no more content comes.
    }
    this.#lanes.handler.onRequest(exchange);
  }

  readonly #onSent = ({ keepsConnection }: PlainExchange): void => {
    const ahead = this.#state.kind === "handling" ? this.#state.ahead : undefined;
    if (!keepsConnection) {
      this.#state = ending;
      this.#socket.off("data", this.#onData);
      this.#socket.end(() => lingeringClose(this.#socket)); // Its timer starts when the system has the response.
    } else if (ahead !== undefined) {
      this.#readLater(ahead);
    } else {
      this.#state = idle;
      if (this.#hasEnded) {
        this.#socket.end();
      }
    }
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    const state = this.#state;
    if (state.kind === "handling") {
      state.exchange.endContent("malformed_request");
    } else if (state === idle) {
      this.#socket.end();
    } else if (state.kind === "reading" && state.begun !== undefined) {
      this.#handOver(state.begun);
    }
  };

  #handOver(packet: Buffer): void {
    const socket = this.#socket;
    this.#state = ending;
    this.#fields = undefined; // The listener of `close` holds this object until the connection ends.
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

function joined(first: Buffer | undefined, second: Buffer): Buffer {
  return first === undefined ? second : Buffer.concat([first, second]);
}
