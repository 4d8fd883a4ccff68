/**
 * Connects the server to node:http: sets the time-outs, and gives each connection what Node would respond to by itself,
 * or drop without a response.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Socket } from "node:net";

import { Connection, type RequestHandler } from "./connection.ts";
import { type Connections, stopServer } from "./stopping.ts";

export interface ListenerLimits {
  readonly fieldBytesMax: number;
  readonly fieldsMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  /** A client that reads nothing of waiting output is cut off after this time, or up to twice as long. */
  readonly stalledReaderMs: number;
  readonly timeoutCheckMs: number;
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
  const connections = new Map<Socket, Connection>();
  const take = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void =>
    connections.get(incoming.socket)?.take(incoming, outgoing, expectsContinue);
  server.on("connection", (socket: Socket) => {
    connections.set(socket, new Connection(socket, handler, connections));
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", (incoming, outgoing) => take(incoming, outgoing, false));
  server.on("checkContinue", (incoming, outgoing) => take(incoming, outgoing, true));
  // Any other expectation may be ignored (RFC 9110, 10.1.1).
  server.on("checkExpectation", (incoming, outgoing) => take(incoming, outgoing, false));
  server.on("connect", (incoming) => {
    const { socket } = incoming;
    // Node has removed its own listeners from the socket.
    socket.on("error", () => socket.destroy());
    socket.on("timeout", () => server.emit("timeout", socket));
    connections.get(socket)?.connect(incoming);
  });
  server.on("clientError", (error, socket) => {
    if (socket instanceof Socket) { // Only a TLS server has other streams here.
      connections.get(socket)?.fail(error);
    }
  });
  cutOffStalledReaders(server, connections, limits);
  return {
    server,
    stop: (graceMs) => stopServer(server, connections, { idleMs: limits.stopIdleMs, graceMs }),
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

/**
 * Gives a time-out to sockets with waiting output, by a periodic look at all of them: `server.setTimeout` would set one
 * with each request and each response, which takes 3 % of a request's time. If the client has read anything during a
 * time-out, Node does not emit it and begins another one.
 */
function cutOffStalledReaders(server: Server, connections: Connections, limits: ListenerLimits): void {
  const { stalledReaderMs, timeoutCheckMs } = limits;
  const look = (): void => {
    for (const socket of connections.keys()) {
      // Node may remove a time-out at the next request.
      if (socket.writableLength > 0 && socket.timeout !== stalledReaderMs) {
        socket.setTimeout(stalledReaderMs);
      }
    }
  };
  let timer: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    timer = setInterval(look, timeoutCheckMs).unref();
  });
  server.on("close", () => clearInterval(timer));
  server.on("timeout", (socket: Socket) => {
    // With a listener here, Node does not destroy idle connections by itself. A client whose response is still being
    // made has nothing to read, so it is not cut off.
    if (socket.writableLength > 0 || connections.get(socket)?.isAnswered() !== false) {
      socket.destroy();
    }
  });
}
