/**
 * The fast lane behind proxies that keep their connections to the service, and share them among clients. Goal: no
 * response to another client's request, and no difference from node:http alone.
 *
 * Each client sends a proxy some right requests, then perhaps a rare or damaged one, then one that ends its connection.
 * The same bytes go through the same proxy to a service with the lane and to one without. All responses must be the
 * same, and all that the services have read as requests. REQUESTS sets how many are sent, SEED replays them.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { Transform } from "node:stream";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { petToJson } from "animal-store";
import { systemClock } from "../../build/src/base/clock.js";
import { Observers } from "../../build/src/observe/observers.js";
import { mutate, requests } from "../../build/test/property/mutations.js";
import { freePort } from "../../build/test/support/free-port.js";
import { skipNginx, startNginx } from "../../build/test/support/nginx.js";
import { startProcess } from "../../build/test/support/program.js";
import { runningService } from "../../build/test/support/running-service.js";
import { SeededRandom, seedFromEnvironment } from "../../build/test/support/seeded-random.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";

const requestCount = Number(process.env.REQUESTS ?? 10_000);
const clientsAtOnce = 32;
/** So long a proxy waits for the rest of a request, or for another one. */
const restMs = 2_000;

/*
 * The proxies wait for all content: otherwise it depends on the time whether the service sees a request whose content
 * is damaged. And since a connection that has left the lane does not come back, they keep few, or use each a few times.
 */

const skipHaproxy = spawnSync("haproxy", ["-v"]).error === undefined ? false : "haproxy is not installed (Debian: haproxy)";

async function startHaproxy(folder, sites) {
  const path = join(folder, "haproxy.cfg");
  const times = ["connect", "client", "server", "http-request"].map((name) => `timeout ${name} ${restMs}ms`);
  const options = ["option http-buffer-request", "option forwardfor", "http-reuse always"];
  const site = ({ port, servicePort }) =>
    `listen p${port}\nbind 127.0.0.1:${port}\nserver one 127.0.0.1:${servicePort} pool-max-conn 4\n`;
  await writeFile(path, ["global", "tune.bufsize 65536", "defaults", "mode http", ...options, ...times, ...sites.map(site)].join("\n"));
  return startProcess(undefined, "haproxy", ["-W", "-f", path], /Loading success/);
}

function startNginxOf(folder, sites) {
  const times = ["client_header", "client_body", "keepalive", "lingering"].map((name) => `${name}_timeout ${restMs}ms;`);
  const site = ({ port, servicePort }) => `
    upstream u${port} { server 127.0.0.1:${servicePort} max_fails=0; keepalive 32; keepalive_requests 10; }
    server {
      listen 127.0.0.1:${port};
      large_client_header_buffers 4 16k;
      location / {
        proxy_pass http://u${port};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      }
    }`;
  return startNginx(folder, [...times, ...sites.map(site)].join("\n"));
}

const animal = (id, newPet = { name: "Rex", categoryId: 5, status: "available" }) => petToJson({ id, ...newPet });

/** Nothing changes it, so no response depends on the order of the requests. */
const store = {
  async add(newPet) {
    await eventLoopTurn();
    return { id: 1, json: animal(1, newPet) };
  },
  async change(id, _, { match }) {
    await eventLoopTurn();
    return match.includes("available")
      ? { kind: "changed", json: animal(id), version: 1 }
      : { kind: "mismatch", status: "available", version: 1 };
  },
  get: (id) => (id < 100 ? { json: animal(id), version: 1 } : undefined),
  list: ({ after, limit }) => ({ json: `[${animal(after + 1)}]`, nextAfter: limit === 3 ? after + 1 : undefined }),
  isWritable: () => true,
  close: () => Promise.resolve(),
};

/** Passes connections on to the service, and cuts each second packet behind its header fields: content comes later. */
async function startRelay(context, servicePort) {
  let packetCount = 0;
  const transform = async function (packet, _encoding, done) {
    const headEnd = packetCount++ % 2 === 0 ? packet.indexOf("\r\n\r\n") + 4 : 0;
    this.push(packet.subarray(0, headEnd));
    await eventLoopTurn();
    await eventLoopTurn(); // In the turn between, the service has read the first part.
    done(null, packet.subarray(headEnd));
  };
  const relay = createServer((socket) => {
    const onward = connect({ port: servicePort, host: "127.0.0.1", noDelay: true });
    socket.on("error", () => onward.destroy());
    onward.on("error", () => socket.destroy());
    socket.pipe(new Transform({ transform })).pipe(onward).pipe(socket);
  });
  await new Promise((resolve) => relay.listen(0, "127.0.0.1", resolve));
  context.after(() => relay.close());
  return relay.address().port;
}

/** A service that notes what it has read as requests, and counts those that node:http has read. */
async function startService(context, hasFastLane) {
  const read = [];
  const observers = new Observers({ clock: systemClock, hasMetrics: false, writeRequests: undefined });
  observers.observe = ({ requestId, method, routePattern }, { status, code }, byteCount) =>
    read.push({ requestId, method, routePattern, status, code, byteCount });
  const running = await runningService(context, { hasFastLane, observers, options: { store, trustProxy: 1 } });
  let nodeCount = 0;
  for (const event of ["request", "checkContinue", "checkExpectation", "connect", "clientError"]) {
    running.listener.server.prependListener(event, () => nodeCount++);
  }
  const servicePort = await startRelay(context, running.port);
  return { port: await freePort(), servicePort, key: running.key, read, laneCount: () => read.length - nodeCount };
}

/** Stands for the key, which each service has of its own. */
const keyMark = `as_${"k".repeat(43)}`;

const rex = '{"name":"Rex","categoryId":5}';
const rightOnes = [
  ["GET /v1/pets"], ["GET /v1/pets/9"], ["GET /v1/pets/999"], ["GET /v1/pets?limit=3&after=7"], ["GET /v1/pets?limit=0"],
  ["GET /v1/nothing"], ["GET /healthz"], ["GET /v1/pets", "as_wrong"],
  ["POST /v1/pets", keyMark, `Content-Length: ${rex.length}`, rex], ["POST /v1/pets", keyMark, "Content-Length: 1", "{"],
  ["POST /v1/pets", keyMark, "Transfer-Encoding: chunked", `${rex.length.toString(16)}\r\n${rex}\r\n0\r\n\r\n`],
  ["PATCH /v1/pets/9", keyMark, 'If-Match: "sold"\r\nContent-Length: 20', '{"status":"pending"}'],
  ["PATCH /v1/pets/9", keyMark, "If-Match: *\r\nContent-Length: 20", '{"status":"pending"}'],
];

function rightRequest(random, id, connection = "") {
  const [line, key = keyMark, fields = "", content = ""] = random.pick(rightOnes);
  const all = ["Host: a", `Authorization: Bearer ${key}`, `X-Request-Id: ${id}`, connection, fields].filter((text) => text !== "");
  return `${line} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${content}`;
}

/** A request with another one behind its fields, which is its content for whoever believes what they say of it. */
function hiding(random, mark) {
  const hidden = `GET /v1/pets/9 HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${mark}hidden\r\n\r\n`;
  const { length } = hidden;
  const framing = random.pick([
    ...[`Content-Length: ${length}`, `content-length:${length}`, "Content-Length: 0", `Content-Length: ${length - 9}`],
    ...[`Content-Length: 0${length}`, `Content-Length: +${length}`, `Content-Length: ${length}, ${length}`],
    ...[`Content-Length: 0\r\nContent-Length: ${length}`, `Connection: Content-Length\r\nContent-Length: ${length}`],
    ...[`Content-Length: \t${length} `, `X: a\nContent-Length: ${length}`, `Content-Length : ${length}`, `Content_Length: ${length}`],
    ...["Transfer-Encoding: chunked", "Transfer-Encoding : chunked", `Transfer-Encoding: chunked\r\nContent-Length: ${length}`],
    ...[`Content-Length: ${length}\r\nTransfer-Encoding: xchunked`, "Transfer-Encoding: identity", "Transfer-Encoding:\x0bchunked"],
    ...["Transfer-Encoding: chunked, identity", `Expect: 100-continue\r\nContent-Length: ${length}`],
  ]);
  const method = random.pick(["GET", "POST", "POST", "PATCH", "HEAD", "OPTIONS"]);
  const fields = `Host: a\r\nAuthorization: Bearer ${keyMark}\r\nX-Request-Id: ${mark}0\r\n${framing}`;
  return Buffer.from(`${method} /v1/pets/1 HTTP/1.1\r\n${fields}\r\n\r\n${random.oneIn(2) ? "" : "0\r\n\r\n"}${hidden}`, "latin1");
}

/** A request that is rare or damaged, or a few. That it names a client's address is left to the proxies. */
function damaged(random, mark) {
  const usual = requests(random, keyMark).toString("latin1").replace(/X-Forwarded-For: 10\..*\r\n/g, "");
  const whole = Buffer.from(usual.replaceAll("X-Request-Id: r", `X-Request-Id: ${mark}`), "latin1");
  return mutate(random, random.oneIn(4) ? hiding(random, mark) : whole).toString("latin1");
}

/** What a client sends. The mark makes its ids its own. */
function messageOf(random, mark) {
  const first = Array.from({ length: random.integer(1, 5) }, (_, index) => rightRequest(random, `${mark}first${index}`));
  const last = rightRequest(random, `${mark}last`, "Connection: close");
  return [...first, random.oneIn(2) ? damaged(random, mark) : "", last].join("");
}

/** Sends the text from an address of the client's own. Resolves to all that comes until the proxy closes. */
function talk(port, localAddress, text) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress }, () => socket.write(text, "latin1"));
    const chunks = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("end", () => socket.destroy());
    socket.on("error", () => {}); // A reset is a way to close.
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  });
}

/** The service's own, if a client gives none that is plain. */
const ownId = /^[\w-]{9,11}$/;
/** A proxy sends it by itself, and closes. It may be lost. */
const proxyPage = /HTTP\/1\.1 [45](?:(?!\nx-request-id:)[^])*?\r\n\r\n<html>[^]*<\/html>\s*$/i;

/**
 * What the service has responded, but for what differs each time, and for whether its connection stays, which depends
 * on when content came. Fails unless each response is to one of the requests, in their order.
 */
function judge(received, sent) {
  let from = 0;
  return received
    .replace(proxyPage, "")
    .replace(/^(?:connection|keep-alive): .*\r\n/gim, "")
    .replace(/^(date|x-ratelimit-(?:remaining|reset)): .*$/gim, "$1")
    .replace(/^(x-request-id): (.*)$/gim, (field, name, id) => {
      const at = sent.indexOf(id, from);
      assert.ok(at !== -1 || ownId.test(id), `a response to another request: ${id}`);
      from = Math.max(at + 1, from);
      return at === -1 ? name : field;
    });
}

function comparable(read) {
  return read.map(({ requestId, ...rest }) => JSON.stringify([ownId.test(requestId) ? "" : requestId, rest])).sort();
}

for (const [name, skip, startProxy] of [["nginx", skipNginx, startNginxOf], ["HAProxy", skipHaproxy, startHaproxy]]) {
  test(`${requestCount / 2} requests behind ${name} get their own responses, and the same ones without the fast lane`, { skip }, async (context) => {
    const seed = seedFromEnvironment();
    const services = [await startService(context, true), await startService(context, false)];
    const folder = temporaryFolder(context);
    const proxy = await startProxy(folder, services);
    context.after(() => proxy.stop());
    let sentCount = 0;
    let clientCount = 0;
    const work = async () => {
      while (sentCount < requestCount / 2) {
        const client = clientCount++;
        const random = new SeededRandom((seed + client * 7_919) >>> 0);
        const text = messageOf(random, `c.${client}.`);
        const localAddress = `127.${random.integer(1, 255)}.${random.integer(0, 255)}.${random.integer(1, 254)}`;
        sentCount += 2 * text.match(/X-Request-Id/g).length;
        const talks = services.map(async ({ port, key }) => {
          const sent = text.replaceAll(keyMark, key);
          return [await talk(port, localAddress, sent), sent];
        });
        const [withLane, without] = await Promise.all(talks);
        try {
          assert.equal(judge(...withLane), judge(...without));
        } catch (cause) {
          const { message } = cause;
          throw new Error(`SEED=${seed} client ${client}: ${message}\n${JSON.stringify(text.slice(0, 2_000))}`, { cause });
        }
      }
    };
    await Promise.all(Array.from({ length: clientsAtOnce }, work));
    const [lane, node] = services;
    context.diagnostic(`SEED=${seed} ${lane.read.length} were read, ${lane.laneCount()} of them in the lane`);
    assert.deepEqual(comparable(lane.read), comparable(node.read));
    assert.ok(lane.laneCount() > lane.read.length / 3, "few requests were in the lane");
  });
}
