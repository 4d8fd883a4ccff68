/**
 * The memory of an idle connection does not depend on what was sent on it before. Goal: a client cannot make the service
 * hold its packets, fields or content by leaving connections open. Method: in each way that a connection can be served,
 * many connections send one request each and stay open; the memory that they take, in the heap and in buffers, is
 * compared with that of connections that have sent a short GET.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { connect as connectSecurely } from "node:tls";
import { promisify } from "node:util";

import { one } from "../support/certificates.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { runningService, type Start } from "../support/running-service.ts";
import { until } from "../support/until.ts";
import { petOfBytes, request } from "../support/wire.ts";

/** By itself, `npm test` tries two of the ways, with few connections. */
const idleCount = process.env["IDLE_COUNT"];
const connectionCount = Number(idleCount ?? 32);
const rest = { skip: idleCount === undefined && "takes long: IDLE_COUNT=64 tries it, too" };
const differenceBytesMax = 2_048;
const roundsMax = 4;

/** Packets of one request. A request that the fast lane does not read stays with node:http, which takes more memory. */
interface Sent {
  readonly name: string;
  readonly isPlain: boolean;
  readonly packets: readonly Buffer[];
}

function fields(byteCount: number): string[] {
  return Array.from({ length: byteCount / 300 }, (_, index) => `X-Long-${index}: `.padEnd(298, "v"));
}

/** The first of either kind is short: the others are compared with it. */
function requests(key: string): readonly Sent[] {
  const create = { method: "POST", key } as const;
  const refused = { method: "POST", target: "/healthz" } as const;
  const other = ["TE: trailers"];
  const late = request({ ...create, fields: other, content: petOfBytes(16_000) });
  const chunked = `3e80\r\n${petOfBytes(16_000)}\r\n0\r\n\r\n`;
  return [
    { name: "short", isPlain: true, packets: [request({ key })] },
    { name: "GET, 7 kB of fields", isPlain: true, packets: [request({ key, fields: fields(7_000) })] },
    { name: "create, 7 kB of content", isPlain: true, packets: [request({ ...create, content: petOfBytes(7_000) })] },
    { name: "405, 7 kB of content", isPlain: true, packets: [request({ ...refused, content: petOfBytes(7_000) })] },
    { name: "short", isPlain: false, packets: [request({ key, fields: other })] },
    { name: "GET, 12 kB of fields", isPlain: false, packets: [request({ key, fields: fields(12_000) })] },
    { name: "GET, 60 kB of content", isPlain: false, packets: [request({ key, content: petOfBytes(60_000) })] },
    {
      name: "create, 12 kB of fields, 16 kB of content",
      isPlain: false,
      packets: [request({ ...create, fields: fields(12_000), content: petOfBytes(16_000) })],
    },
    { name: "create, content in a later packet", isPlain: false, packets: [late.subarray(0, -100), late.subarray(-100)] },
    {
      name: "create, chunked",
      isPlain: false,
      packets: [request({ ...create, fields: ["Transfer-Encoding: chunked"], content: chunked })],
    },
    { name: "401, 12 kB of fields", isPlain: false, packets: [request({ fields: fields(12_000) })] },
    { name: "405, 60 kB of content", isPlain: false, packets: [request({ ...refused, content: petOfBytes(60_000) })] },
  ];
}

/** Sends the packets, a turn apart, and resolves when the response has come, to whether the connection stays open. */
function exchangeOn(socket: Socket, packets: readonly Buffer[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
      if (length !== undefined && text.length >= text.indexOf("\r\n\r\n") + 4 + Number(length)) {
        socket.removeAllListeners("data").resume();
        resolve(!/\r\nconnection: close\r\n/i.test(text));
      }
    });
    void (async () => {
      for (const packet of packets) {
        socket.write(packet);
        await eventLoopTurn();
        await eventLoopTurn();
      }
    })();
  });
}

/** What is held once it falls no more: V8 frees buffers beside the program. */
async function settledBytes(): Promise<number> {
  for (let before = Infinity; ; ) {
    for (let turn = 0; turn < 20; turn++) {
      await eventLoopTurn();
    }
    const bytes = heapBytes();
    if (bytes > before - 4_096) {
      return bytes;
    }
    before = bytes;
  }
}

async function closeAll(server: Server, sockets: readonly Socket[]): Promise<void> {
  sockets.forEach((socket) => socket.destroy());
  const count = promisify(server.getConnections.bind(server));
  await until("the server has closed them too", async () => (await count()) === 0);
}

/** What each of many idle connections takes that has sent these packets. */
async function bytesOfEach(server: Server, isSecure: boolean, packets: readonly Buffer[], count: number): Promise<number> {
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const before = await settledBytes();
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const socket = isSecure
      ? connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false })
      : connect({ port, host: "127.0.0.1", noDelay: true });
    if (await exchangeOn(socket, packets)) {
      sockets.push(socket);
    } else {
      socket.destroy(); // The system has cut the packet in two, so the response was the last one.
    }
  }
  const taken = (await settledBytes()) - before;
  assert.ok(sockets.every((socket) => !socket.destroyed && !socket.readableEnded), "the connections are idle");
  await closeAll(server, sockets);
  return taken / count;
}

async function compare(context: TestContext, key: string, server: Server, isSecure: boolean): Promise<void> {
  const all = requests(key);
  for (const { packets } of all) {
    await bytesOfEach(server, isSecure, packets, 8); // Whatever is made once is there.
  }
  const faults: string[] = [];
  let [short, shortBytes] = [all[0]!, 0]; // The first of either kind.
  for (const sent of all) {
    let bytes = await bytesOfEach(server, isSecure, sent.packets, connectionCount);
    [short, shortBytes] = sent.name === "short" ? [sent, bytes] : [short, shortBytes];
    for (let round = 1; bytes - shortBytes > differenceBytesMax && round < roundsMax; round++) {
      // V8 may have freed something else meanwhile. What a connection holds is there each time.
      shortBytes = await bytesOfEach(server, isSecure, short.packets, connectionCount);
      bytes = await bytesOfEach(server, isSecure, sent.packets, connectionCount);
    }
    context.diagnostic(`${sent.name}: ${Math.round(bytes)}`);
    if (bytes - shortBytes > differenceBytesMax) {
      faults.push(`${sent.name}: ${Math.round(bytes)} bytes, after a short request ${Math.round(shortBytes)}`);
    }
  }
  assert.deepEqual(faults, []);
}

const ways: readonly (readonly [name: string, start: Start])[] = [
  ["that began in the fast lane", { hasFastLane: true }],
  ["of node:http", { hasFastLane: false }],
  ["over TLS, that began in the fast lane", { hasFastLane: true, certificate: one }],
  ["of node:https", { hasFastLane: false, certificate: one }],
];

for (const [index, [name, start]] of ways.entries()) {
  test(`an idle connection ${name} holds nothing of what was sent on it`, index === 0 ? {} : rest, async (context) => {
    const isSecure = start.certificate !== undefined || process.env["ANIMAL_STORE_TEST_TLS"] !== undefined;
    const { key, listener } = await runningService(context, start);
    await compare(context, key, listener.server, isSecure);
  });
}

for (const way of ["handle", "guard"] as const) {
  test(`an idle connection of an embedding program holds nothing of what came to ${way}()`, way === "handle" ? {} : rest, async (context) => {
    const { service, key } = await runningService(context);
    const server = createServer((incoming, outgoing) => {
      service[way](incoming, outgoing, () => {
        incoming.resume();
        outgoing.writeHead(200, { "Content-Length": 2 }).end("{}");
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    context.after(() => server.close());
    await compare(context, key, server, false);
  });
}
