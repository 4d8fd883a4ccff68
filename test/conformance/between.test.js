/**
 * What stands between a client and the service in other people's programs: middleware that wraps `writeHead`, adapters
 * that make requests of their own, and tracing.
 */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { openAnimalStore } from "animal-store";
import { AnimalStoreClient } from "animal-store/client";
import compression from "compression";
import express from "express";
import session from "express-session";
import inject from "light-my-request";
import morgan from "morgan";
import mocks from "node-mocks-http";
import responseTime from "response-time";
import serverless from "serverless-http";
import { createKey, start } from "../../build/test/support/program.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { until } from "../../build/test/support/until.js";
import { here, programPath, recipes } from "./running-service.js";

async function open(context) {
  const service = await openAnimalStore({ dataDir: temporaryFolder(context) });
  context.after(() => service.close());
  const { key } = await service.keys.create({ plan: "business" });
  return { service, key };
}

const rex = { name: "Rex", categoryId: 1 };

/** Each with what it adds to a response. */
const middleware = {
  "compression": [compression({ threshold: 0 }), ["content-encoding", "vary"]],
  "morgan": [morgan("combined", { stream: { write() {} } }), []],
  "express-session": [session({ secret: "a", resave: false, saveUninitialized: true }), ["set-cookie"]],
  "response-time": [responseTime(), ["x-response-time"]],
};

for (const [name, [handler, added]] of Object.entries(middleware)) {
  test(`behind ${name}, which wraps writeHead, every response arrives with its fields`, async (context) => {
    // It knows one form of the fields only. Later releases know more.
    assert.match(createRequire(import.meta.resolve(name))("on-headers/package.json").version, /^1\.0\./);
    const { service, key } = await open(context);
    const app = express().use("/wrapped", handler).use(service.handle).use("/wrapped", service.handle);
    app.get("/wrapped/own", service.guard, (_, response) => response.json({}));
    const server = app.listen(0, "127.0.0.1");
    context.after(() => server.close().closeAllConnections());
    await once(server, "listening");
    const origin = `http://127.0.0.1:${server.address().port}`;
    const { pets } = new AnimalStoreClient({ url: `${origin}/wrapped/v1`, key });
    await Promise.all(Array.from({ length: 30 }, () => pets.add(rex)));
    assert.equal((await pets.changeStatus(1, "sold", { from: "available" })).status, "sold");
    const fieldsOf = async (path, init) => [...(await fetch(`${origin}${path}`, init)).headers.keys()];
    for (const [path, init] of [
      ["/v1/pets?limit=2", { headers: { authorization: `Bearer ${key}` } }],
      ["/v1/pets/1", { headers: { authorization: `Bearer ${key}`, "if-none-match": '"sold-2"' } }],
      ["/v1/pets", {}],
      ["/v1/limits", { method: "OPTIONS", headers: { authorization: `Bearer ${key}` } }],
    ]) {
      const [plain, wrapped] = [await fieldsOf(path, init), await fieldsOf(`/wrapped${path}`, init)];
      const lost = plain.filter((field) => !wrapped.includes(field) && !(name === "compression" && field === "content-length"));
      const others = wrapped.filter((field) => !plain.includes(field) && !added.includes(field));
      assert.deepEqual([lost, others.filter((field) => field !== "transfer-encoding" && field !== "x-powered-by")], [[], []], path);
    }
    const refused = await fetch(`${origin}/wrapped/own`);
    assert.deepEqual([refused.status, refused.headers.has("www-authenticate"), (await refused.json()).code], [401, true, "missing_api_key"]);
  });
}

test("requests that an adapter has made work, or their content is said to have been read", async (context) => {
  const { service, key } = await open(context);
  const headers = { Authorization: `Bearer ${key}`, Host: "shop.example" };
  const lambda = serverless((incoming, outgoing) => service.handle(incoming, outgoing));
  const event = (httpMethod, path, own = {}, body = undefined) =>
    lambda({ httpMethod, path, headers: { ...headers, "Content-Type": "application/json", ...own }, body: body && JSON.stringify(body) }, {});
  const added = await event("POST", "/v1/pets", {}, rex);
  assert.deepEqual([added.statusCode, added.headers.etag, JSON.parse(added.body).id], [201, '"available-1"', 1]);
  assert.equal((await event("PATCH", "/v1/pets/1", { "If-Match": "available" }, { status: "sold" })).statusCode, 200);
  assert.equal((await event("GET", "/v1/pets/1", { "If-None-Match": '"sold-2"' })).statusCode, 304);
  const list = await event("GET", "/v1/pets");
  assert.deepEqual([list.statusCode, list.headers["x-ratelimit-remaining"]], [200, "996"]);
  assert.equal((await event("GET", "/v1/pets", { Authorization: "" })).statusCode, 401);

  const injected = await inject(service.handle, { method: "POST", url: "/v1/pets", headers, payload: rex });
  assert.deepEqual([injected.statusCode, injected.json().id], [201, 2]);

  const mocked = (method, body) => {
    const fields = { ...headers, ...(body && { "content-type": "application/json" }) };
    const outgoing = mocks.createResponse({ eventEmitter: EventEmitter });
    return new Promise((resolve) => {
      outgoing.on("end", () => resolve(`${outgoing.statusCode} ${outgoing._getData()}`));
      service.handle(mocks.createRequest({ method, url: "/v1/pets", headers: fields, body }), outgoing, ({ message }) => resolve(message));
    });
  };
  assert.match(await mocked("GET"), /^200 \[\{"id":1,.*"id":2,/);
  assert.match(await mocked("POST", rex), /^Cannot read the body: another parser has read it/);
});

test("with what the manual says of OpenTelemetry, each request is a span", async (context) => {
  const manual = await readFile(join(recipes, "..", "operators.md"), "utf8");
  const [, flags, options] = /needs `(--fast-lane off)`; OpenTelemetry's also\s`NODE_OPTIONS="([^"]+)"`/.exec(manual);
  const folder = temporaryFolder(context);
  const how = { program: programPath, cwd: here };
  const key = await createKey(["--data", folder], "free", how);
  const exporters = { OTEL_TRACES_EXPORTER: "console", OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" };
  const env = { NODE_OPTIONS: options, ...exporters, OTEL_BSP_SCHEDULE_DELAY: "100", OTEL_NODE_RESOURCE_DETECTORS: "none" };
  const service = await start(context, ["--data", folder, ...flags.split(" ")], { ...how, env });
  const { pets } = new AnimalStoreClient({ url: service.url, key });
  await pets.add(rex);
  await pets.get(1);
  const kindOfServer = /^ *kind: 1,$/gm;
  await until("there are two spans", () => service.output().stdout.match(kindOfServer)?.length === 2);
  assert.equal(await service.stop(), 0);
});
