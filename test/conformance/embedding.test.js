/**
 * Runs each embedding example as it is written: the API beside another route, a whole round through it,
 * links that work for the client, and a process that ends by itself.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { keepPair, one } from "../../build/test/support/certificates.js";
import { wholeResponse } from "../../build/test/support/client.js";
import { freePort } from "../../build/test/support/free-port.js";
import { createKey, startProcess } from "../../build/test/support/program.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { until } from "../../build/test/support/until.js";
import { here, programPath, runTool } from "./running-service.js";

/** Name of the file, where the API is, and what its links begin with; a route of the program behind the guard. */
const examples = [
  { name: "node-https", base: "/v1", links: "https://localhost/v1" },
  { name: "express", base: "/v1", links: "/v1" },
  { name: "connect", base: "/shop/v1", links: "/shop/v1" },
  { name: "fastify", base: "/v1", links: "/v1" },
  { name: "fastify", prefix: "/shop", base: "/shop/v1", links: "/shop/v1" },
  { name: "fastify-guard", base: "/v1", links: "/v1", own: "/own/plan", says: "free" },
  { name: "express-meter", base: "/v1", links: "/v1", own: "/own/requests", says: "6" },
];

test("an embedder's TypeScript compiles strictly, unless a plan does not exist or a call of the guard is wrong", () => {
  const flags = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node"];
  const { output, status } = runTool("tsc", [...flags, "types.ts"]);
  assert.equal(status, 0, output);
});

function ask(send, port, { method = "GET", path, key, content }) {
  const headers = {
    connection: "close",
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(content === undefined ? {} : { "content-type": "application/json", "content-length": content.length }),
  };
  return wholeResponse(send({ host: "127.0.0.1", port, path, method, headers, rejectUnauthorized: false }), content);
}

for (const { name, prefix, base, links, own, says } of examples) {
  test(`the service works as ${name}.js embeds it${prefix === undefined ? "" : " at a prefix"}`, async (context) => {
    const folder = temporaryFolder(context);
    const port = await freePort();
    const pair = keepPair(folder, one);
    const env = { ...process.env, TLS_CERT: pair.cert, TLS_KEY: pair.key, PORT: String(port), DATA: join(folder, "data") };
    const path = join(here, "generated", "embedding", `${name}.js`);
    const mounted = join(here, "generated", "embedding", `${name}-prefix.js`);
    if (prefix !== undefined) {
      writeFileSync(mounted, readFileSync(path, "utf8").replace("app.use(service", `app.use("${prefix}", service`));
    }
    const example = await startProcess(context, process.execPath, [prefix === undefined ? path : mounted], /^listening$/m, { env });
    const send = name === "node-https" ? httpsRequest : httpRequest;
    const key = await createKey(["--data", env.DATA], "free", { program: programPath });

    const hello = await ask(send, port, { path: "/hello" });
    assert.deepEqual([hello.status, hello.text], [200, "hello"]);
    const rejected = await ask(send, port, { path: `${base}/pets` });
    assert.equal(JSON.parse(rejected.text).code, "missing_api_key");

    const list = await until("the running service knows the key", async () => {
      const response = await ask(send, port, { path: `${base}/pets`, key });
      return response.status === 401 ? undefined : response;
    });
    assert.deepEqual([list.status, list.text], [200, "[]"]);
    for (const id of [1, 2]) {
      const content = JSON.stringify({ name: "Rex", categoryId: 5 });
      const created = await ask(send, port, { method: "POST", path: `${base}/pets`, key, content });
      assert.deepEqual([created.status, created.headers.location], [201, `${links}/pets/${id}`]);
    }
    const page = await ask(send, port, { path: `${base}/pets?limit=1`, key });
    assert.equal(page.headers.link, `<${links}/pets?limit=1&after=1>; rel="next"`);
    const wrong = await ask(send, port, { method: "POST", path: `${base}/pets`, key, content: "{}" });
    assert.equal(JSON.parse(wrong.text).code, "invalid_body");
    const unknown = await ask(send, port, { path: `${base}/dogs`, key });
    assert.equal(JSON.parse(unknown.text).code, "route_not_found");
    if (own !== undefined) {
      const stranger = await ask(send, port, { path: own });
      assert.deepEqual([stranger.status, JSON.parse(stranger.text).code], [401, "missing_api_key"]);
      const plan = await ask(send, port, { path: own, key });
      assert.deepEqual([plan.status, plan.text], [200, says]);
      const left = ({ headers }) => Number(headers["x-ratelimit-remaining"]);
      assert.equal(left(plan), left(unknown) - 1);
    }

    assert.equal(await example.stop(), 0);
  });
}
