/**
 * A stop: requests under way get their responses, no new ones are taken, and no client can delay it beyond its bound.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { drainMs } from "../../src/wire/closing.ts";
import { type Client, newClient } from "../support/client.ts";
import { GatedStore } from "../support/gated-store.ts";
import { createKey, run, type RunningProgram, start } from "../support/program.ts";
import { type RunningService, runningService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

/** A connection that can carry requests. */
const connectionEvent = process.env["ANIMAL_STORE_TEST_TLS"] === undefined ? "connection" : "secureConnection";

/** Far shorter than the grace and the drain time that the tests set: `stop` must not wait for their end. */
const bounded = { timeout: 5_000 };

test("stop() handles no request that comes after a response that says Connection: close, also while that is being sent", bounded, async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(4_000_000)}1]`;
  const { listener, port, key } = await runningService(context, { options: { store } });
  const connected = once(listener.server, connectionEvent);
  const wire = await Wire.open(port);
  const [socket] = (await connected) as [Socket];
  wire.socket.pause();
  let stopped: Promise<void> | undefined;
  const listed = new Promise<void>((resolve) => {
    const list = store.list.bind(store);
    store.list = () => {
      stopped = listener.stop(10_000);
      resolve();
      return list();
    };
  });
  wire.send(request({ key }));
  await listed;
  const readBytes = socket.bytesRead;
  wire.send(request({ method: "POST", key, content: rex }));
  while (socket.bytesRead === readBytes) {
    await eventLoopTurn();
  }
  wire.socket.resume();
  assert.equal((await wire.response()).value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
  assert.equal(store.addCount, 0);
  await stopped;
});

test("stop() still takes a request whose fields were half sent, and /healthz is 503", bounded, async (context) => {
  const { service, listener, port } = await runningService(context);
  const wire = await Wire.open(port);
  const connection = once(listener.server, "connection");
  const other = await Wire.open(port);
  await connection;
  other.send(request({ target: "/healthz" }));
  await other.response();
  wire.send("GET /healthz HTTP/1.1\r\nHo");
  await exchange(port, request({ target: "/healthz" }));
  service.beginStopping();
  const stopped = listener.stop(10_000);
  wire.send("st: a\r\n\r\n");
  const response = await wire.response();
  assert.deepEqual([response.status, response.value("connection")], [503, "close"]);
  assert.equal((await other.closed()).rest, "");
  await stopped;
});

test("stop() takes the request after a response that keeps the connection and is still being read", bounded, async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(4_000_000)}1]`;
  const { listener, port, key } = await runningService(context, { options: { store }, limits: { stopIdleMs: 20_000 } });
  const wire = await Wire.open(port);
  wire.socket.pause();
  wire.send(request({ key }));
  await exchange(port, request({ target: "/healthz" }));
  const stopped = listener.stop(20_000);
  wire.socket.resume();
  assert.equal((await wire.response()).value("connection"), "keep-alive");
  const response = await wire.send(request({ target: "/healthz" })).response();
  assert.deepEqual([response.status, response.value("connection")], [200, "close"]);
  assert.equal((await wire.closed()).rest, "");
  await stopped;
});

test("stop() does not cut off a response that waits for its client; a request behind it is answered, or not handled", bounded, async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(2_000_000)}1]`;
  const { listener, port, key } = await runningService(context, { options: { store } });
  const wire = await Wire.open(port);
  wire.socket.pause();
  wire.send(Buffer.concat([request({ key }), request({ method: "POST", key, content: rex })]));
  await exchange(port, request({ target: "/healthz" }));
  const stopped = listener.stop(10_000);
  wire.socket.resume();
  assert.equal((await wire.response()).contentBytes, store.listJson.length);
  const next = wire.response().catch(() => undefined);
  await Promise.race([store.added(1), next]);
  store.open();
  assert.equal((await next)?.status, store.addCount === 1 ? 201 : undefined);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  await stopped;
});

/** One connection that had a response, and one that never sent a byte. */
async function idleConnections({ listener, port }: RunningService): Promise<Wire[]> {
  const used = await Wire.open(port);
  await used.send(request({ target: "/healthz" })).response();
  const connected = once(listener.server, "connection");
  const unused = await Wire.open(port);
  await connected;
  return [used, unused];
}

test("stop() does not wait for idle connections, nor for those that never sent a byte", bounded, async (context) => {
  const running = await runningService(context);
  const wires = await idleConnections(running);
  await running.listener.stop(60_000);
  for (const wire of wires) {
    assert.equal((await wire.closed()).rest, "");
  }
});

test("stop() takes a request that was on its way on an idle connection; its response closes the connection", bounded, async (context) => {
  const running = await runningService(context, { limits: { stopIdleMs: 20_000 } });
  const wires = await idleConnections(running);
  const stopped = running.listener.stop(20_000);
  for (const wire of wires) {
    const response = await wire.send(request({ method: "POST", key: running.key, content: rex })).response();
    assert.deepEqual([response.status, response.value("connection")], [201, "close"]);
    assert.equal((await wire.closed()).rest, "");
  }
  await stopped;
});

test("stop() answers what had arrived on an idle connection, also if the event loop is late", bounded, async (context) => {
  for (const hasFastLane of [true, false]) {
    const { listener, port } = await runningService(context, { hasFastLane, limits: { stopIdleMs: 50 } });
    const idle = await Promise.all(Array.from({ length: 10 }, () => Wire.open(port)));
    await Promise.all(idle.map((wire) => wire.send(request({ target: "/healthz" })).response()));
    const stopped = listener.stop(10_000);
    await eventLoopTurn();
    await eventLoopTurn();
    idle.forEach((wire) => wire.send(request({ target: "/healthz" })));
    for (const endMs = performance.now() + 100; performance.now() < endMs; ) {
      // The timer is due before anything is read.
    }
    for (const wire of idle) {
      assert.equal((await wire.response()).value("connection"), "close");
      assert.equal((await wire.closed()).rest, "");
    }
    await stopped;
  }
});

test("stop() takes the connections that the system had not handed over yet, and answers on them", async (context) => {
  for (const hasFastLane of [true, false]) {
    const { listener, port } = await runningService(context, { hasFastLane, limits: { drainBacklogMs: 20_000, stopIdleMs: 20_000 } });
    const opening = Array.from({ length: 20 }, () => Wire.open(port));
    await new Promise<void>((resolve) => process.nextTick(resolve)); // The system connects them, and nobody has taken one.
    const stopped = listener.stop(10_000);
    await Promise.all(opening.map(async (connection) => {
      const wire = await connection;
      const response = await wire.send(request({ target: "/healthz" })).response();
      assert.equal(response.value("connection"), "close");
      assert.equal((await wire.closed()).rest, "");
    }));
    await stopped;
    await assert.rejects(Wire.open(port));
  }
});

test("stop() closes every connection when the grace is over", bounded, async (context) => {
  const store = new GatedStore();
  const { service, listener, port, key } = await runningService(context, { options: { store } });
  const never = await Wire.open(port);
  const half = (await Wire.open(port)).send("GET /v1/pets HT");
  const idle = await Wire.open(port);
  await idle.send(request({ key })).response();
  const upload = (await Wire.open(port)).send(request({ method: "POST", key, fields: ["Content-Length: 9"] }));
  const waiting = (await Wire.open(port)).send(request({ method: "POST", key, content: rex }));
  await store.added(1);
  await exchange(port, request({ target: "/healthz" }));
  service.beginStopping();
  const startMs = performance.now();
  await listener.stop(20);
  assert.ok(performance.now() - startMs < drainMs);
  for (const wire of [never, half, idle, upload, waiting]) {
    assert.equal((await wire.closed()).rest, "");
  }
});

test("stop() cuts off after its grace whoever is left, however long the system brings new connections", bounded, async (context) => {
  const graceMs = 1_100;
  const { listener, port, key } = await runningService(context, { limits: { drainBacklogMs: 1_000 } });
  const upload = (await Wire.open(port)).send(request({ method: "POST", key, fields: ["Content-Length: 9"] }));
  await exchange(port, request({ target: "/healthz" }));
  let isStopped = false;
  const connectInEachTurn = (): void => {
    if (!isStopped) {
      listener.server.emit("connection", new Socket());
      const turnMs = performance.now() + 1; // A turn takes a millisecond, so that they are not many.
      while (performance.now() < turnMs);
      setImmediate(connectInEachTurn);
    }
  };
  connectInEachTurn();
  const startMs = performance.now();
  await listener.stop(graceMs);
  isStopped = true;
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs < 1.6 * graceMs, `it took ${tookMs} ms`);
  assert.equal((await upload.closed()).rest, "");
});

/** Posts one animal after the other until the connection breaks. Returns the ids of the 201 responses. */
async function load(client: Client): Promise<number[]> {
  const ids: number[] = [];
  for (;;) {
    const response = await client.add({ name: "Rex", categoryId: 5 }).catch(() => undefined);
    if (response === undefined) {
      return ids;
    }
    assert.equal(response.status, 201);
    ids.push(idOf(response.text));
  }
}

function idOf(json: string): number {
  return Number(/"id":(\d+)/.exec(json)?.[1]);
}

async function startWithKey(context: TestContext): Promise<{ program: RunningProgram; port: number; key: string; data: string }> {
  const data = temporaryFolder(context);
  const key = await createKey(["--data", data]);
  const program = await start(context, ["--data", data]);
  return { program, port: Number(new URL(program.url).port), key, data };
}

test("SIGTERM under load: every animal that was acknowledged is on disk, and the exit code is 0", async (context) => {
  const { program, port, key, data } = await startWithKey(context);
  const client = newClient(program, key, { connections: 8 });
  context.after(() => client.close());
  const loads = Array.from({ length: 8 }, () => load(client));
  const idle = await Wire.open(port);
  await idle.send(request({ key })).response();
  const never = await Wire.open(port);
  const held = await Wire.open(port);
  const create = request({ method: "POST", key, content: rex });
  held.send(create.subarray(0, -1)); // Read before the exchanges below, which begin later, have their responses.
  while (!(await exchange(port, request({ target: "/v1/pets?limit=100", key }))).content.includes('"id":100,')) {
    // Until the load is at full speed.
  }
  const stopped = program.stop();
  assert.equal((await idle.closed()).rest, "");
  const last = await held.send(create.subarray(-1)).response();
  assert.deepEqual([last.status, last.value("connection")], [201, "close"]);
  assert.equal(await stopped, 0);
  const ids = [...(await Promise.all(loads)).flat(), idOf(last.content)];
  assert.equal(new Set(ids).size, ids.length);
  assert.equal((await never.closed()).rest, "");
  const checked = await run(["check", "--data", data]);
  const kept = Number(/(\d+) animals/.exec(checked.stdout)?.[1]);
  assert.ok(kept >= Math.max(...ids) && kept <= ids.length + 8, `${kept} kept, ${ids.length} answered`);
  assert.match(program.output().stderr, /stopping.*\nstopped.*\n$/);
});

test("a second signal more than a second after the first ends it at once, whatever is under way", async (context) => {
  const { program, port, key } = await startWithKey(context);
  const wire = await Wire.open(port);
  wire.send(request({ method: "POST", key, fields: ["Expect: 100-continue", "Content-Length: 9"] }));
  assert.equal((await wire.response()).status, 100);
  const repeating = setInterval(() => program.process.kill("SIGINT"), 100);
  context.after(() => clearInterval(repeating));
  assert.equal(await program.stop("SIGTERM"), null);
  assert.equal(program.process.signalCode, "SIGINT");
  await wire.closed();
});
