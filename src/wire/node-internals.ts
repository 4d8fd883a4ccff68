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
 * tick-shape.ts is not checked: it only makes Node faster, and does no harm where Node has changed.
 */

/** The major releases of Node on which `.ci/run` tries this module. */
const testedMajors: readonly number[] = [20, 22, 24, 26];

/** Why the fast lane cannot be used on this Node; undefined if it can. */
export function faultOfNode(version = process.version): string | undefined {
  const isTested = testedMajors.includes(Number.parseInt(version.slice(1), 10));
  return isTested ? undefined : `Node ${version} is none of ${testedMajors.join(", ")}, on which it is tested`;
}
