/**
 * Connects the server to node:http, or node:https: sets the time-outs, gives each connection what Node would respond to
 * by itself, or drop without a response, and stops without cutting off responses.
 */

import type { RequestHandler } from "../http/exchange.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { Server as NetServer, Socket } from "node:net";
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import type { SecureContextOptions } from "node:tls";

import { bounds } from "../base/bounds.ts";
import { Connection } from "./connection.ts";
import { FastLanes } from "./fast-lane.ts";

export const listenerLimits = {
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** How long a client may read nothing of a response, or up to twice as long. */
  stalledReaderMs: 30_000,
  /** Longer than the 60 s that proxies keep a connection, so that the proxy closes first and no request is lost. */
  idleMs: 75_000,
  /** How often Node looks for connections that have timed out. Its own 30 s would add to `fieldsMs`. */
  timeoutCheckMs: 500,
  /** How long a stop keeps idle connections open, so that a request that a proxy sends on one is not lost. */
  stopIdleMs: 250,
} as const;

export type ListenerLimits = Readonly<Record<keyof typeof listenerLimits, number>>;

export interface Listener {
  /** A `TlsServer` if a certificate was given. */
  readonly server: Server | TlsServer;
  /** Takes no new connections, and closes each present one after its response, or after `graceMs`. Then resolves. */
  stop(graceMs: number): Promise<void>;
}

type Connections = ReadonlyMap<Socket, Connection>;

export interface ListenerOptions {
  readonly limits?: ListenerLimits;
  /** With its key: the server speaks HTTPS. */
  readonly certificate?: SecureContextOptions | undefined;
  /** Whether plain requests are read and responded to without node:http. */
  readonly hasFastLane?: boolean;
}

export function createListener(handler: RequestHandler, options: ListenerOptions = {}): Listener {
  const { limits = listenerLimits, certificate, hasFastLane = true } = options;
  const server = createHttpServer(limits, certificate);
  const connections = new Map<Socket, Connection>();
  const take = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void =>
    connections.get(incoming.socket)?.take(incoming, outgoing, expectsContinue);
  /** Sockets that are not secure yet, by the client's end. What ends before was no connection of HTTP. */
  const handshaking = new Map<string, Socket>();
  const begin = (socket: Socket): void => {
    const connection = new Connection(socket, handler, connections);
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    if (!server.listening) {
      connection.stop(); // It became secure after the stop had begun.
    }
  };
  const event = certificate === undefined ? "connection" : "secureConnection";
  server.on(event, begin);
  const lanes = hasFastLane ? new FastLanes(server, event, handler, limits) : undefined;
  if (certificate !== undefined) {
    server.on("connection", (socket: Socket) => {
      const client = clientOf(socket);
      handshaking.set(client, socket);
      socket.once("close", () => handshaking.delete(client));
    });
    server.on("secureConnection", (socket: Socket) => handshaking.delete(clientOf(socket)));
  }
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
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const connection = connections.get(socket);
    if (connection === undefined) {
      socket.destroy(); // Its handshake failed.
    } else {
      connection.fail(error, limits.fieldsMs);
    }
  });
  cutOffStalledReaders(server, connections, limits);
  const closeUnused = (): void => {
    handshaking.forEach((socket) => socket.destroy());
    for (const socket of connections.keys()) {
      if (socket.bytesRead === 0) {
        socket.destroy(); // Node counts it as busy. Browsers open such connections in advance.
      }
    }
    lanes?.closeIdle();
  };
  const stop = (graceMs: number): Promise<void> => {
    lanes?.stop();
    return stopServer(server, connections, closeUnused, () => lanes?.closeAll(), limits.stopIdleMs, graceMs);
  };
  return { server, stop };
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function createHttpServer(limits: ListenerLimits, certificate: SecureContextOptions | undefined): Server | TlsServer {
  const options = {
    maxHeaderSize: bounds.fieldBytesMax + 1, // Node refuses this length.
    headersTimeout: limits.fieldsMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.idleMs,
    insecureHTTPParser: false,
    requireHostHeader: false, // Node's response would have no content: `messageFault` checks Host instead.
    noDelay: true,
  };
  const secure = { minVersion: "TLSv1.2", handshakeTimeout: limits.fieldsMs, allowHalfOpen: true } as const;
  const server = certificate ? createTlsServer({ ...options, ...secure, ...certificate }) : createServer(options);
  // A client may half-close after its request and still wants the response (RFC 9112, 9.6). The types lack this.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxHeadersCount = bounds.fieldCountMax + 1; // Node drops the fields beyond it: one more shows that there are.
  return server;
}

/**
 * Gives a time-out to sockets with waiting output, by a periodic look at all: `server.setTimeout` takes 3 % of each
 * request's time. If the client has read anything meanwhile, Node begins another time-out instead of emitting it.
 */
function cutOffStalledReaders(server: Server | TlsServer, connections: Connections, limits: ListenerLimits): void {
  const timer = setInterval(() => {
    for (const socket of connections.keys()) {
      // Node may remove a time-out at the next request.
      if (socket.writableLength > 0 && socket.timeout !== limits.stalledReaderMs) {
        socket.setTimeout(limits.stalledReaderMs);
      }
    }
  }, limits.timeoutCheckMs).unref();
  server.on("close", () => clearInterval(timer));
  server.on("timeout", (socket: Socket) => {
    // With a listener here, Node does not destroy idle connections by itself. A client whose response is still being
    // made has nothing to read, so it is not cut off.
    if (socket.writableLength > 0 || connections.get(socket)?.owesResponse() !== true) {
      socket.destroy();
    }
  });
}

/** Idle connections are closed only every `idleMs`: a request may be on its way. */
async function stopServer(
  server: Server | TlsServer,
  connections: Connections,
  closeUnused: () => void,
  closeLanes: () => void,
  idleMs: number,
  graceMs: number,
): Promise<void> {
  // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  connections.forEach((connection) => connection.stop());
  const idleTimer = setInterval(() => {
    closeUnused();
    if (![...connections.values()].some((connection) => connection.seemsIdle())) {
      server.closeIdleConnections();
    }
  }, idleMs);
  const graceTimer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Node does not close those of CONNECT.
    closeLanes();
  }, graceMs);
  await closed;
  clearInterval(idleTimer);
  clearTimeout(graceTimer);
}
