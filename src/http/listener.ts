/**
 * The server's edge to node:http: time-outs, and what Node would answer by itself, or drop without an answer.
 *
 * Each connection has one record: the last exchange that began on it. Answers leave a connection in the order of its
 * requests, so once that one's answer is out all are, and the record alone decides who answers damage: the exchange
 * whose content is damaged, or, when all is answered, this file with bytes of its own.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { ErrorCode } from "./errors.ts";
import { mayBeFollowed } from "./upgrade.ts";

/** The part of a request's state that the connection cares for. */
export interface OpenRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse | undefined;
  /** While content is being read: ends the reading with this error. */
  readonly damage: ((code: ErrorCode) => void) | undefined;
}

/** Who answers. */
export interface Responder {
  /** Answers an ordinary request; returns at once. */
  readonly onRequest: (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean) => OpenRequest;
  /** The whole answer to CONNECT, as bytes. */
  readonly onConnect: (incoming: IncomingMessage) => Promise<string>;
  /** The whole answer to something that is no request, as bytes. */
  readonly onDamage: (code: ErrorCode, socketAddress: string | undefined) => string;
}

export interface ListenerLimits {
  readonly fieldBytesMax: number;
  readonly fieldsMs: number;
  readonly requestMs: number;
  readonly stalledReaderMs: number;
  readonly idleMs: number;
  readonly timeoutCheckMs: number;
  readonly drainBytesMax: number;
  readonly drainMs: number;
}

interface Connection {
  /** The last exchange that began here. */
  exchange: OpenRequest | undefined;
  /** Set once bytes arrived that cannot be a request: nothing after them is read as one. */
  damagedAtBytes: number | undefined;
  /** The `bytesRead` at which the next request begins; known only while every request carries `Upgrade`. */
  nextAtBytes: number | undefined;
  /** Whether the last response says `Connection: close` only because the server stops. */
  closesToStop: boolean;
}

type Connections = Map<Duplex, Connection>;

export interface Listener {
  readonly server: Server;
  /**
   * Takes no new connections, lets the requests under way finish for `graceMs` at most, and resolves when every
   * connection is closed.
   */
  stop(graceMs: number): Promise<void>;
}

export function createListener(responder: Responder, limits: ListenerLimits): Listener {
  const connections: Connections = new Map();
  let isStopping = false;
  const server = createServer({
    maxHeaderSize: limits.fieldBytesMax,
    headersTimeout: limits.fieldsMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.idleMs,
    insecureHTTPParser: false,
    requireHostHeader: false, // Its answer would have no body; the request path looks for Host itself.
    noDelay: true,
  });
  // A client may half-close behind its request and still wants the answer (RFC 9112, 9.6). The types leave this out.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.maxRequestsPerSocket = 0;
  server.maxHeadersCount = 0; // Node would drop the fields beyond its count; `maxHeaderSize` bounds them as well.

  const begin = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void => {
    const connection = connections.get(incoming.socket);
    if (connection === undefined || !mayFollow(connection)) {
      return;
    }
    connection.closesToStop = isStopping && outgoing.shouldKeepAlive;
    if (isStopping) {
      outgoing.shouldKeepAlive = false;
    }
    if (incoming.headers.upgrade === undefined) {
      connection.nextAtBytes = undefined;
    } else {
      keepIfAlone(connection, incoming, outgoing);
    }
    const exchange = responder.onRequest(incoming, outgoing, expectsContinue);
    // What is over is let go of: holding the last request of each connection made the collector work for 2 %.
    connection.exchange = isAnswered(exchange) && outgoing.shouldKeepAlive ? undefined : exchange;
  };
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { exchange: undefined, damagedAtBytes: undefined, nextAtBytes: 0, closesToStop: false });
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", (incoming, outgoing) => begin(incoming, outgoing, false));
  server.on("checkContinue", (incoming, outgoing) => begin(incoming, outgoing, true));
  // Any other expectation may be ignored (RFC 9110, 10.1.1).
  server.on("checkExpectation", (incoming, outgoing) => begin(incoming, outgoing, false));
  server.on("connect", (incoming, socket) => {
    void onConnect(incoming, socket, connections.get(socket), { responder, limits });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Only a server of TLS has other sockets here.
    onClientError(error, socket as Socket, connections.get(socket), { responder, limits });
  });
  watchReaders(server, connections, limits);
  return {
    server,
    stop(graceMs) {
      isStopping = true;
      return stop(server, connections, graceMs);
    },
  };
}

/**
 * Cuts off readers that take nothing. Only a socket with output waiting gets a time-out, by a look at all of them now
 * and then: `server.setTimeout` would set one anew with each request and each answer (3 % of a request's time).
 */
function watchReaders(
  server: Server,
  connections: Connections,
  { stalledReaderMs, timeoutCheckMs }: ListenerLimits,
): void {
  const look = (): void => {
    for (const socket of connections.keys()) {
      // Where it is set, Node starts it anew with every byte that is taken; another request may have unset it.
      if (socket.writableLength > 0 && socket instanceof Socket && socket.timeout !== stalledReaderMs) {
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
    // Quiet while an answer is being made is our doing. Quiet with output waiting is a reader that takes nothing, and
    // quiet after the last answer an idle connection: Node leaves both to whoever listens here.
    if (socket.writableLength > 0 || isAnswered(connections.get(socket)?.exchange)) {
      socket.destroy();
    }
  });
}

/**
 * Whether a further request on the connection is handled. After a response that says `Connection: close` none is (RFC
 * 9112, 9.6). If that is only because the server stops, and has not been sent yet, a later response says it instead.
 */
function mayFollow(connection: Connection): boolean {
  const { exchange, closesToStop } = connection;
  const outgoing = exchange?.outgoing;
  if (outgoing === undefined || outgoing.shouldKeepAlive) {
    return true;
  }
  if (outgoing.headersSent || !closesToStop) {
    return false;
  }
  outgoing.shouldKeepAlive = true;
  return true;
}

/** Closes the connection after a request with `Upgrade`, unless nothing can have come after it. */
function keepIfAlone(connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const startBytes = connection.nextAtBytes;
  connection.nextAtBytes = undefined;
  if (!outgoing.shouldKeepAlive || startBytes === undefined) {
    outgoing.shouldKeepAlive = false;
    return;
  }
  const decide = (): void => {
    outgoing.shouldKeepAlive = !mayBeFollowed(incoming, startBytes);
    connection.nextAtBytes = outgoing.shouldKeepAlive ? incoming.socket.bytesRead : undefined;
  };
  decide();
  if (!outgoing.shouldKeepAlive) {
    incoming.once("end", decide); // Its content may have been still to come.
  }
}

function isAnswered(exchange: OpenRequest | undefined): boolean {
  const outgoing = exchange?.outgoing;
  return outgoing === undefined || hasLeft(outgoing) || outgoing.destroyed || outgoing.writableFinished;
}

/** Whether the answer is with the system: from Node 24 on `writableFinished` says so a turn later. */
function hasLeft({ writableEnded, socket }: ServerResponse): boolean {
  return writableEnded && socket?.writableLength === 0;
}

async function stop(server: Server, connections: Connections, graceMs: number): Promise<void> {
  // Not the method of node:http: that destroys connections whose answer is written but not yet taken by its reader.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const closeIdle = (): void => {
    if (![...connections.values()].some(({ exchange }) => exchange?.outgoing?.writableEnded && !isAnswered(exchange))) {
      server.closeIdleConnections();
    }
  };
  for (const [socket, connection] of connections) {
    const { exchange } = connection;
    if (socket instanceof Socket && socket.bytesRead === 0) {
      socket.destroy(); // Node counts it as busy; browsers open such ones in advance.
    } else if (exchange?.outgoing !== undefined && !isAnswered(exchange)) {
      connection.closesToStop ||= exchange.outgoing.shouldKeepAlive;
      exchange.outgoing.shouldKeepAlive = false;
      afterAnswer(exchange, closeIdle);
    }
  }
  closeIdle();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Those of CONNECT are no longer Node's.
  }, graceMs);
  await closed;
  clearTimeout(timer);
  server.close(); // Ends what Node still runs for it.
}

/** Writes the answer to the socket, to which Node offers no response, behind all answers that are still due on it. */
async function onConnect(
  incoming: IncomingMessage,
  socket: Duplex,
  connection: Connection | undefined,
  { responder, limits }: { readonly responder: Responder; readonly limits: ListenerLimits },
): Promise<void> {
  socket.on("error", () => socket.destroy());
  if (connection === undefined || !mayFollow(connection)) {
    socket.resume(); // The previous response closes the connection.
    return;
  }
  const answer = await responder.onConnect(incoming);
  afterAnswer(connection.exchange, () => {
    socket.end(answer);
    linger(socket, limits);
    socket.resume();
  });
}

function onClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  { responder, limits }: { readonly responder: Responder; readonly limits: ListenerLimits },
): void {
  if (connection?.damagedAtBytes !== undefined) {
    // The parser complains about every further packet; they are dropped, up to the bound.
    if (socket.bytesRead - connection.damagedAtBytes > limits.drainBytesMax) {
      socket.destroy();
    }
    return;
  }
  const code = damageCode(error);
  if (connection === undefined || code === undefined || !socket.writable || socket.bytesRead === 0) {
    socket.destroy(); // Reset by the client, or a connection that never sent a byte: nobody waits for an answer.
    return;
  }
  connection.damagedAtBytes = socket.bytesRead;
  const { exchange } = connection;
  if (exchange !== undefined && !exchange.incoming.complete) {
    exchange.damage?.(code); // Without a reader the answer is out or on its way, and closes the connection.
    afterAnswer(exchange, () => linger(socket, limits));
    return;
  }
  socket.pause(); // Whatever else it sends must not use up the bound before the answer is out.
  afterAnswer(exchange, () => {
    if (socket.writable) {
      socket.end(responder.onDamage(code, socket.remoteAddress));
      linger(socket, limits);
    }
    socket.resume();
  });
}

/** Undefined where the connection itself broke. */
function damageCode(error: NodeJS.ErrnoException): ErrorCode | undefined {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return "header_fields_too_large";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout";
    case "HPE_INVALID_EOF_STATE":
      return "malformed_request";
    default:
      return error.code?.startsWith("HPE_") ? "malformed_request" : undefined;
  }
}

/** Runs `then` once the exchange's answer, and with it all before it, has been handed to the system. */
function afterAnswer(exchange: OpenRequest | undefined, then: () => void): void {
  const outgoing = exchange?.outgoing;
  if (outgoing === undefined || isAnswered(exchange)) {
    then();
  } else {
    outgoing.once("close", then);
  }
}

/** Gives the client time to read the last answer before unread bytes reset the connection (RFC 9112, 9.6). */
function linger(socket: Duplex, { drainMs }: ListenerLimits): void {
  if (socket.destroyed) {
    return; // Its "close" is over: the timer would keep the process alive for nothing.
  }
  const timer = setTimeout(() => socket.destroy(), drainMs);
  socket.once("close", () => clearTimeout(timer));
}
