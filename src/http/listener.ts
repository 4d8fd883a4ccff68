/**
 * Connects the server to node:http: sets the time-outs, and handles what Node would respond to by itself, or drop
 * without a response.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import { Connection, linger, type OpenRequest } from "./connection.ts";
import { type DrainBounds, handleClientError } from "./client-error.ts";
import type { ErrorCode } from "./error-codes.ts";
import { type ReaderTimes, watchReaders } from "./stalled-readers.ts";
import { stopServer } from "./stopping.ts";

/** Makes the responses. */
export interface RequestHandler {
  /** Responds to an ordinary request; returns at once. */
  readonly onRequest: (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean) => OpenRequest;
  /** The whole response to CONNECT, as bytes. */
  readonly onConnect: (incoming: IncomingMessage) => Promise<string>;
  /** The whole response to bytes that are not a request, as bytes. */
  readonly onClientError: (code: ErrorCode, socketAddress: string | undefined) => string;
}

export interface ListenerLimits extends DrainBounds, ReaderTimes {
  readonly fieldBytesMax: number;
  readonly fieldsMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  readonly stopIdleMs: number;
}

export interface Listener {
  readonly server: Server;
  /**
   * Takes no new connections, lets requests that are under way or on their way finish for at most `graceMs`, and
   * resolves when every connection is closed.
   */
  stop(graceMs: number): Promise<void>;
}

export function createListener(handler: RequestHandler, limits: ListenerLimits): Listener {
  const server = createHttpServer(limits);
  const connections = new Map<Duplex, Connection>();
  let isStopping = false;
  const begin = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void => {
    const connection = connections.get(incoming.socket);
    if (connection?.letRequestFollow() !== true) {
      return;
    }
    connection.begin(incoming, outgoing);
    connection.respondInTurn(() => {
      if (!connection.letFollow() || incoming.socket.destroyed) {
        return;
      }
      if (isStopping) {
        connection.closeToStop(outgoing);
      }
      connection.request = handler.onRequest(incoming, outgoing, expectsContinue);
      if (connection.failure !== undefined && !incoming.complete) {
        connection.request.failContent(connection.failure.code); // It failed while the request waited for its turn.
      }
      if (connection.isAnswered() && outgoing.shouldKeepAlive) {
        connection.request = undefined; // Holding the last request of each connection cost 2 % in garbage collection.
      }
    });
  };
  server.on("connection", (socket: Socket) => {
    connections.set(socket, new Connection(socket));
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", (incoming, outgoing) => begin(incoming, outgoing, false));
  server.on("checkContinue", (incoming, outgoing) => begin(incoming, outgoing, true));
  // Any other expectation may be ignored (RFC 9110, 10.1.1).
  server.on("checkExpectation", (incoming, outgoing) => begin(incoming, outgoing, false));
  server.on("connect", (incoming, socket) => {
    // Node has removed its own listeners from the socket.
    socket.on("error", () => socket.destroy());
    socket.on("timeout", () => void (socket.writableLength > 0 && server.emit("timeout", socket)));
    onConnect(incoming, socket, connections.get(socket), { handler, drainMs: limits.drainMs });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket; // Only a TLS server has other streams here.
    const respond = (code: ErrorCode): string => handler.onClientError(code, socket.remoteAddress);
    handleClientError(error, socket, connections.get(socket), limits, respond);
  });
  watchReaders(server, connections, limits);
  return {
    server,
    stop(graceMs) {
      isStopping = true;
      return stopServer(server, connections, { idleMs: limits.stopIdleMs, graceMs });
    },
  };
}

function createHttpServer(limits: ListenerLimits): Server {
  const server = createServer({
    maxHeaderSize: limits.fieldBytesMax + 1, // Node refuses this length.
    headersTimeout: limits.fieldsMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.idleMs,
    insecureHTTPParser: false,
    requireHostHeader: false, // Node's response would have no content: `messageFault` checks Host instead.
    noDelay: true,
  });
  // A client may half-close after its request and still wants the response (RFC 9112, 9.6). The types lack this.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.maxHeadersCount = 0; // Node would drop the fields beyond its count; `maxHeaderSize` bounds them as well.
  return server;
}

/** Writes the response to CONNECT to the socket: Node has no response object for it. */
function onConnect(
  incoming: IncomingMessage,
  socket: Duplex,
  connection: Connection | undefined,
  { handler, drainMs }: { readonly handler: RequestHandler; readonly drainMs: number },
): void {
  const respond = async (): Promise<void> => {
    if (connection?.letRequestFollow() === true) {
      socket.end(await handler.onConnect(incoming));
      linger(socket, drainMs);
    }
    socket.resume();
  };
  connection?.respondInTurn(() => void respond());
}
