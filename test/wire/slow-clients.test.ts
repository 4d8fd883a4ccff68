/**
 * Slow clients take their sockets and nothing else: other clients are served meanwhile. As a measurement at full size:
 *
 *     SLOW_COUNT=1000 IDLE_COUNT=10000 FLOOD_COUNT=1700 node --test build/test/wire/slow-clients.test.js
 *
 * (descriptors: `ulimit -n 32768`).
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { newClient } from "../support/client.ts";
import { createKey, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const slowCount = Number(process.env["SLOW_COUNT"] ?? "120");
const idleCount = Number(process.env["IDLE_COUNT"] ?? "200");
const floodCount = Number(process.env["FLOOD_COUNT"] ?? "120");
const politeCount = 200;

test(`beside ${slowCount} slow clients and ${idleCount} idle ones a polite client is served`, async (context) => {
  const data = temporaryFolder(context);
  const key = await createKey(["--data", data]);
  const program = await start(context, ["--data", data]);
  const port = Number(new URL(program.url).port);
  const kinds = [
    (wire: Wire) => wire.send("GET /v1/pets HTTP/1.1\r\nHost: a\r\nX-Slow: "),
    (wire: Wire) => wire.send(request({ method: "POST", key, fields: ["Content-Length: 30"] })),
    (wire: Wire) => {
      wire.socket.pause();
      return wire.send(Buffer.concat(Array<Buffer>(20).fill(request({ key, target: "/v1/pets?limit=100" }))));
    },
  ];
  const wires: Wire[] = [];
  for (let count = 0; count < slowCount + idleCount; count++) {
    const wire = await Wire.open(port);
    wires.push(wire);
    if (count < slowCount) {
      kinds[count % kinds.length]?.(wire);
    }
  }
  const drip = setInterval(() => wires.slice(0, slowCount).forEach((wire) => wire.socket.write("x")), 200);
  const polite = newClient(program, key, { connections: 1 });
  context.after(() => {
    clearInterval(drip);
    polite.close();
  });
  for (let count = 0; count < politeCount; count++) {
    const { status } = await (count % 10 === 0 ? polite.add({ name: "Rex", categoryId: 5 }) : polite.get("/v1/pets"));
    assert.ok(status < 300, String(status));
  }
  clearInterval(drip);
  wires.forEach((wire) => wire.destroy());
  assert.equal(await program.stop(), 0);
});

const skipMemory = process.platform === "linux" ? false : "the memory of a process is read from /proc";
test(`${floodCount} clients that send 65 kB of requests and read nothing do not fill the memory`, { skip: skipMemory }, async (context) => {
  const program = await start(context, ["--data", temporaryFolder(context)]);
  const port = Number(new URL(program.url).port);
  const targets = Array.from({ length: floodCount }, (_, index) => (index % 8 === 0 ? "/openapi.json" : "/"));
  const wires = await Promise.all(targets.map(async (target) => {
    const wire = await Wire.open(port);
    wire.socket.pause();
    const bytes = `GET ${target} HTTP/1.1\r\nHost:\r\n\r\n`;
    return wire.send(bytes.repeat(65_000 / bytes.length));
  }));
  const health = request({ target: "/healthz" });
  assert.equal((await exchange(port, health)).status, 200); // It has read what came before.
  const startMs = performance.now();
  assert.equal((await exchange(port, health)).status, 200);
  const ms = performance.now() - startMs;
  const kilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${program.process.pid}/status`, "utf8"))?.[1]);
  wires.forEach((wire) => wire.destroy());
  context.diagnostic(`${kilobytes} kB at most, ${ms.toFixed(1)} ms`);
  assert.ok(kilobytes < 300_000, `${kilobytes} kB`);
  assert.ok(ms < 1_000, `${ms} ms`);
});

test("a service that has run out of descriptors stays alive, and serves when they are free again", async (context) => {
  const data = temporaryFolder(context);
  const key = await createKey(["--data", data]);
  const program = await start(context, ["--data", data], { wrapper: ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"] });
  const port = Number(new URL(program.url).port);
  const wires = await Promise.all(Array.from({ length: 200 }, () => Wire.open(port)));
  // The first of them hold what there is; the others are closed at once, or wait.
  await Promise.all(wires.slice(0, 100).map((wire) => wire.send("GET /v1")));
  wires.forEach((wire) => wire.destroy());
  let status = 0;
  while (status === 0) {
    const wire = await Wire.open(port);
    status = await wire.send(request({ method: "POST", key, content: rex })).response().then(
      (response) => response.status,
      () => 0, // Those before it are not all gone yet.
    );
    wire.destroy();
  }
  assert.equal(status, 201);
  assert.equal(await program.stop(), 0);
});
