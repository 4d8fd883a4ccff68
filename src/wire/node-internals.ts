/**
 * What this module relies on although Node's documentation does not promise it:
 *
 * - A server of node:http or node:https has a listener for new connections that also takes a socket later, and reads
 *   the `data` and `end` that other code emits on it (fast-lane.ts).
 * - A socket has Node's parser as `parser`. It calls `onIncoming` for each request, and if that returns 2, it stops
 *   parsing the packet as HTTP (closing.ts).
 * - A response whose `shouldKeepAlive` is false is the last of its connection. Node then calls `destroySoon` of the
 *   socket (connection.ts, closing.ts, node-exchange.ts, program-connections.ts, metrics-listener.ts).
 * - Node reads no more content of a request whose `push` returns false (connection.ts).
 * - With `httpAllowHalfOpen` a server still responds to a client that has closed its side. `close` of node:net, called
 *   on it, closes no connection. `_parent` of a secure socket is the TCP socket below it (listener.ts).
 * - The `_handle` of a socket has `writeQueueSize`, and below that of a secure one is TCP's as `_parent` (closing.ts).
 * - The codes of the parser's errors begin with `HPE_` (connection.ts).
 *
 * The tests of this module try all of it over sockets, on each release of `testedMajors`; on others the lane is off.
 * This file checks when the program starts what needs no network.
 * tick-shape.ts is not checked: it only makes Node faster, and does no harm where Node has changed.
 */

import { createServer, type Server } from "node:http";
import { Socket } from "node:net";

import { stopParsing } from "./closing.ts";

const packet = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

/** The major releases of Node on which `.ci/run` tries this module. */
const testedMajors: readonly number[] = [20, 22, 24, 26];

/**
 * Why the fast lane cannot be used on this Node; undefined if it can.
 * @param makeServer makes a server of node:http that does not listen
 */
export function faultOfNode(version = process.version, makeServer: () => Server = createServer): string | undefined {
  if (!testedMajors.includes(Number.parseInt(version.slice(1), 10))) {
    return `Node ${version} is none of ${testedMajors.join(", ")}, on which it is tested`;
  }
  const missing = missingInternals(makeServer);
  return missing.length === 0 ? undefined : `Node ${version} has no ${missing.join(", no ")}`;
}

function missingInternals(makeServer: () => Server): readonly string[] {
  const server = makeServer();
  const socket = new Socket();
  let requestCount = 0;
  let keepsConnection: unknown;
  server.on("request", (_, { shouldKeepAlive }) => {
    requestCount++;
    keepsConnection = shouldKeepAlive;
  });
  server.listeners("connection").forEach((listener) => listener.call(server, socket));
  socket.emit("data", packet);
  const readCount = requestCount;
  stopParsing(socket);
  socket.emit("data", packet);
  socket.destroy();
  const found: readonly (readonly [name: string, isThere: boolean])[] = [
    ["a parser that takes what is emitted", readCount === 1],
    ["parser.onIncoming", requestCount === readCount],
    ["shouldKeepAlive", keepsConnection === true],
    ["httpAllowHalfOpen", "httpAllowHalfOpen" in server],
  ];
  return found.flatMap(([name, isThere]) => (isThere ? [] : [name]));
}
