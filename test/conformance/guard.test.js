/**
 * Routes behind `service.guard` in frameworks: it answers what it refuses, its fields are on the framework's own
 * response, and content reaches the route.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { openAnimalStore } from "animal-store";
import connect from "connect";
import express from "express";
import fastify from "fastify";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";

async function listen(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { port: server.address().port, close };
}

async function fastifyWith(service, hook) {
  const app = fastify();
  app.addHook(hook, (request, reply, done) => service.guard(request.raw, reply.raw, done));
  const route = async (request) => ({ ...service.keyOf(request.raw), name: request.body?.name });
  app.get("/own", route);
  app.post("/own", route);
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: app.server.address().port, close: () => app.close() };
}

/** Each starts a program with the route `/own`, which sends the key of the request and the name in its content. */
const programs = {
  "Express": (service) => {
    const app = express();
    app.use("/own", service.guard, express.json());
    app.all("/own", (request, response) => response.json({ ...service.keyOf(request), name: request.body?.name }));
    return listen(createServer(app));
  },
  "Connect": (service) => {
    const app = connect();
    app.use("/own", service.guard);
    app.use("/own", async (request, response) => {
      const content = await text(request);
      response.end(JSON.stringify({ ...service.keyOf(request), ...(content === "" ? {} : JSON.parse(content)) }));
    });
    return listen(createServer(app));
  },
  "Fastify's onRequest": (service) => fastifyWith(service, "onRequest"),
  "Fastify's preHandler": (service) => fastifyWith(service, "preHandler"),
};

for (const [name, start] of Object.entries(programs)) {
  test(`a route behind the guard in ${name} has the keys, the limits and the metrics of the API`, async (context) => {
    const service = await openAnimalStore({ dataDir: temporaryFolder(context), metrics: true });
    const program = await start(service);
    context.after(async () => {
      await program.close();
      await service.close();
    });
    const ask = async (key, init = {}) => {
      const headers = { ...init.headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
      const response = await fetch(`http://127.0.0.1:${program.port}/own`, { ...init, headers });
      return { status: response.status, field: (name) => response.headers.get(name), content: await response.json() };
    };
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"Rex"}' };
    const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 2, perDay: 9, label: "shop" });
    const { key: readOnlyKey } = await service.keys.create({ readOnly: true });

    const caller = { id, plan: "enterprise", label: "shop", readOnly: false };
    for (const [init, left, content] of [[{}, "1", caller], [post, "0", { ...caller, name: "Rex" }]]) {
      const passed = await ask(key, init);
      assert.deepEqual([passed.status, passed.content], [200, content]);
      assert.equal(passed.field("x-ratelimit-remaining"), left);
      assert.match(passed.field("x-request-id"), /^\S+$/);
    }
    const over = await ask(key);
    assert.deepEqual([over.status, over.content.code], [429, "rate_limited"]);
    assert.ok(Number(over.field("retry-after")) > 0);
    const stranger = await ask(undefined, post);
    assert.deepEqual([stranger.status, stranger.content.code], [401, "missing_api_key"]);
    const unsafe = await ask(readOnlyKey, post);
    assert.deepEqual([unsafe.status, unsafe.content.code], [403, "insufficient_scope"]);
    assert.equal((await ask(readOnlyKey)).status, 200);

    const counted = service.metrics().match(/(?<=requests_total\{).*/g).sort();
    assert.deepEqual(counted, [
      'route="guard",method="GET",status="200"} 2',
      'route="guard",method="GET",status="429"} 1',
      'route="guard",method="POST",status="200"} 1',
      'route="guard",method="POST",status="401"} 1',
      'route="guard",method="POST",status="403"} 1',
    ]);
  });
}

test("a route behind the guard works in Fastify's inject", async (context) => {
  const service = await openAnimalStore({ dataDir: temporaryFolder(context) });
  const app = fastify();
  context.after(async () => {
    await app.close();
    await service.close();
  });
  app.addHook("onRequest", (request, reply, done) => service.guard(request.raw, reply.raw, done));
  app.get("/own", async (request) => service.keyOf(request.raw)?.plan);
  const { key } = await service.keys.create({ plan: "pro" });
  const passed = await app.inject({ url: "/own", headers: { authorization: `Bearer ${key}` } });
  assert.deepEqual([passed.body, passed.headers["x-ratelimit-remaining"]], ["pro", "299"]);
  assert.equal((await app.inject({ url: "/own" })).statusCode, 401);
});
