/**
 * Connects the service to a server of node:http or node:https: sets the time-outs, handles the events that Node would
 * answer by itself or drop without a response, and stops without cutting off responses.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { createRequire } from "node:module";
import { Server as NetServer, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "node:timers";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import type { SecureContextOptions } from "node:tls";

import { bounds } from "../base/bounds.ts";
import type { RequestHandler } from "../http/exchange.ts";
import { Connection } from "./connection.ts";
import { FastLanes } from "./fast-lane.ts";
import { type ListenerLimits, listenerLimits } from "./listener-limits.ts";

export interface ListenerOptions {
  readonly limits?: ListenerLimits;
  /** The certificate, its key and other options of TLS. If it is given, the server speaks HTTPS. */
  readonly certificate?: SecureContextOptions | undefined;
  /** Whether plain requests are read and responded to without node:http. */
  readonly hasFastLane?: boolean;
}

/** A server with its connections, and how it stops. */
export class Listener {
  /** A `TlsServer` if a certificate was given. */
  readonly server: Server | TlsServer;
  readonly #limits: ListenerLimits;
  /** The connections that node:http reads. */
  readonly #connections = new Map<Socket, Connection>();
  /** Sockets whose TLS handshake has not ended. They have carried no request, so a stop may close them. */
  readonly #handshaking = new Set<Socket | undefined>();
  readonly #lanes: FastLanes | undefined;
  #isStopping = false;

  constructor(handler: RequestHandler, options: ListenerOptions = {}) {
    const { limits = listenerLimits, certificate, hasFastLane = true } = options;
    if (!hasFastLane) { // Tracers such as OpenTelemetry's patch modules that are required, not those imported.
      ["node:http", "node:https"].forEach(createRequire(import.meta.url));
    }
    this.#limits = limits;
    this.server = createHttpServer(limits, certificate);
    const event = certificate === undefined ? "connection" : "secureConnection";
    // Registered before the lanes are made: they call this listener when a connection leaves its lane.
    this.server.on(event, (socket: Socket) => this.#begin(new Connection(socket, handler), socket));
    this.#lanes = hasFastLane ? new FastLanes(this.server, event, handler, limits) : undefined;
    if (certificate !== undefined) {
      this.#watchHandshakes();
    }
    this.#takeRequests();
    this.#lookAtTimes();
  }

  #begin(connection: Connection, socket: Socket): void {
    this.#connections.set(socket, connection);
    socket.once("close", () => this.#connections.delete(socket));
    if (this.#isStopping) {
      connection.stop();
    }
  }

  #watchHandshakes(): void {
    this.server.on("connection", (socket: Socket) => {
      this.#handshaking.add(socket);
      socket.once("close", () => this.#handshaking.delete(socket));
    });
    // `_parent` is the TCP socket below the secure one. The types lack it.
    this.server.on("secureConnection", ({ _parent }: Socket & { readonly _parent?: Socket }) => {
      this.#handshaking.delete(_parent);
    });
  }

  #takeRequests(): void {
    const take = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void =>
      this.#connections.get(incoming.socket)?.take(incoming, outgoing, expectsContinue);
    const { server } = this;
    server.on("request", (incoming, outgoing) => take(incoming, outgoing, false));
    server.on("checkContinue", (incoming, outgoing) => take(incoming, outgoing, true));
    // Any other expectation may be ignored (RFC 9110, 10.1.1).
    server.on("checkExpectation", (incoming, outgoing) => take(incoming, outgoing, false));
    server.on("connect", ({ socket }) => {
      socket.on("error", () => socket.destroy()); // Node has removed its own listeners from the socket.
      // The service makes no tunnels, and Node has no response object for CONNECT.
      this.#connections.get(socket)?.endWithResponse();
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      const connection = this.#connections.get(socket);
      if (connection === undefined) {
        socket.destroy(); // Its handshake failed.
      } else {
        connection.fail(error, this.#limits.fieldsMs);
      }
    });
  }

  #lookAtTimes(): void {
    const timer = everyInterval(() => {
      this.#lanes?.check();
      this.#connections.forEach((connection) => connection.check(this.#limits));
    }, this.#limits.timeoutCheckMs).unref();
    this.server.on("close", () => clearInterval(timer));
    this.server.on("timeout", (socket: Socket) => {
      const { bytesRead } = socket;
      setImmediate(() => {
        // With a listener here, Node does not destroy idle connections by itself. A client whose response is still
        // being made has nothing to read, so it is not cut off.
        if (socket.bytesRead === bytesRead && this.#connections.get(socket)?.owesResponse() !== true) {
          socket.destroy();
        }
      });
    });
  }

  /**
   * Takes no new connections but those in the system's backlog, and closes each one after its response. Resolves when
   * all are closed: those that are left after `graceMs` are cut off.
   */
  async stop(graceMs: number): Promise<void> {
    const deadlineMs = performance.now() + graceMs;
    this.#isStopping = true;
    this.#lanes?.stop();
    this.#connections.forEach((connection) => connection.stop());
    await drainBacklog(this.server, this.#limits.drainBacklogMs);
    // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.server, () => resolve()));
    // Idle connections are closed only every `stopIdleMs`: a request may be on its way.
    const idleTimer = everyInterval(() => this.#closeIdle(), this.#limits.stopIdleMs);
    const graceTimer = setTimeout(() => {
      this.server.closeAllConnections();
      this.#connections.forEach((_, socket) => socket.destroy()); // Node does not close those of CONNECT.
      this.#lanes?.closeAll();
    }, deadlineMs - performance.now());
    await closed;
    clearInterval(idleTimer);
    clearTimeout(graceTimer);
  }

  #closeIdle(): void {
    this.#handshaking.forEach((socket) => socket?.destroy());
    for (const socket of this.#connections.keys()) {
      if (socket.bytesRead === 0) {
        socket.destroy(); // Browsers open connections in advance, which Node counts as busy.
      }
    }
    this.#lanes?.closeIdle();
    if (![...this.#connections.values()].some((connection) => connection.seemsIdle())) {
      this.server.closeIdleConnections();
    }
  }
}

function createHttpServer(limits: ListenerLimits, certificate: SecureContextOptions | undefined): Server | TlsServer {
  const options = {
    maxHeaderSize: bounds.fieldBytesMax + 1, // Node refuses fields of exactly this length, too.
    headersTimeout: limits.fieldsMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.idleMs,
    insecureHTTPParser: false,
    requireHostHeader: false, // Node's response would have no content: `messageFault` checks Host instead.
    noDelay: true,
  };
  const secure = { handshakeTimeout: limits.fieldsMs, allowHalfOpen: true } as const;
  const server = certificate ? createTlsServer({ ...options, ...secure, ...certificate }) : createServer(options);
  // A client may half-close after its request and still wants the response (RFC 9112, 9.6). The types lack this.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxHeadersCount = bounds.fieldCountMax + 1; // Node drops the others, so one too many shows that it has.
  return server;
}

/** Node runs timers before it reads from sockets. So the step waits until requests that have arrived are read. */
function everyInterval(step: () => void, ms: number): NodeJS.Timeout {
  return setInterval(() => setImmediate(step), ms);
}

/** Takes the connections in the system's backlog, one or more each turn: closing the server would reset them. */
async function drainBacklog(server: Server | TlsServer, maxMs: number): Promise<void> {
  let takenCount = 0;
  const count = (): void => void takenCount++;
  server.on("connection", count);
  const timer = setTimeout(() => server.off("connection", count), maxMs);
  await eventLoopTurn(); // The rest of the current turn.
  for (let before = -1; before < takenCount; ) {
    before = takenCount;
    await eventLoopTurn();
  }
  server.off("connection", count);
  clearTimeout(timer);
}
