/**
 * The nginx recipe, run with other ports and certificate paths, in front of a server with the flags of the systemd unit.
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { keepPair, one } from "../../build/test/support/certificates.js";
import { wholeResponse } from "../../build/test/support/client.js";
import { freePort } from "../../build/test/support/free-port.js";
import { skipNginx, startNginx } from "../../build/test/support/nginx.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { recipes, startService } from "./running-service.js";

const key = {};
let folder;
let service;
let relay;
let nginx;
let port;
/** How often nginx has connected to the server. */
let connectionCount = 0;

before(async () => {
  if (skipNginx) {
    return;
  }
  const unit = await readFile(join(recipes, "animal-store.service"), "utf8");
  const [, flags] = /^ExecStart=.* (--base-url .* --trust-proxy 1) /m.exec(unit);
  service = await startService(flags.split(" "));
  key.authorization = `Bearer ${service.apiKey}`;
  relay = await startRelay(Number(new URL(service.origin).port));
  folder = await mkdtemp(join(tmpdir(), "animal-store-nginx-"));
  port = await freePort();
  nginx = await startNginx(folder, siteOf(await readFile(join(recipes, "nginx.conf"), "utf8")));
});

after(async () => {
  if (skipNginx) {
    return;
  }
  await nginx.stop("SIGQUIT");
  relay.close();
  await service?.stop();
  await rm(folder, { recursive: true });
});

/** Passes connections on to the service and counts them. */
async function startRelay(servicePort) {
  const server = createServer((socket) => {
    connectionCount += 1;
    const onward = connect(servicePort, "127.0.0.1");
    socket.on("error", () => onward.destroy());
    onward.on("error", () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** The recipe with our ports and a certificate of our own. */
function siteOf(recipe) {
  const pair = keepPair(folder, one);
  const replacements = [
    ["listen 443 ssl", `listen 127.0.0.1:${port} ssl`],
    ["/etc/ssl/animals.pem", pair.cert],
    ["/etc/ssl/animals.key", pair.key],
    ["127.0.0.1:3000", `127.0.0.1:${relay.address().port}`],
  ];
  let site = recipe;
  for (const [theirs, ours] of replacements) {
    assert.equal(site.split(theirs).length, 2, `the recipe contains "${theirs}" once`);
    site = site.replace(theirs, ours);
  }
  return site;
}

/** Sends a request on a new connection to nginx. */
function ask(path, { method = "GET", headers = key, content, localAddress } = {}) {
  const options = { host: "127.0.0.1", port, path, method, headers, localAddress, agent: false, rejectUnauthorized: false };
  return wholeResponse(request(options), content);
}

function add(content) {
  const headers = { ...key, "content-type": "application/json", "content-length": content.length };
  return ask("/v1/pets", { method: "POST", headers, content });
}

test("nginx: animals are added and listed, and links lead to the public address", { skip: skipNginx }, async () => {
  for (const id of [1, 2]) {
    const created = await add('{"name":"Rex","categoryId":5}');
    assert.deepEqual([created.status, created.headers.location], [201, `https://animals.example.com/v1/pets/${id}`]);
  }
  const page = await ask("/v1/pets?limit=1");
  assert.equal(page.headers.link, '<https://animals.example.com/v1/pets?limit=1&after=1>; rel="next"');
  assert.equal(page.text, '[{"id":1,"name":"Rex","categoryId":5,"status":"available"}]');
  assert.equal((await ask("/healthz", { headers: {} })).text, '{"status":"ok"}');
});

test("nginx: the errors of the service arrive unchanged, up to its own bounds", { skip: skipNginx }, async () => {
  const tooLarge = await add(" ".repeat(1_048_576));
  const table = [
    [413, "body_too_large", tooLarge],
    [413, "body_too_large", await add(" ".repeat(16_385))],
    [400, "malformed_json", await add(" ".repeat(16_384))],
    [400, "invalid_parameter", await ask(`/v1/pets?${"x".repeat(8_192 - "/v1/pets?".length)}`)],
    [414, "uri_too_long", await ask(`/v1/pets?${"x".repeat(8_193 - "/v1/pets?".length)}`)],
    [431, "header_fields_too_large", await ask("/v1/pets", { headers: { ...key, a: "x".repeat(9_000), b: "x".repeat(9_000) } })],
    [405, "method_not_allowed", await ask("/v1/pets", { method: "DELETE" })],
    [404, "route_not_found", await ask("//v1/pets")],
    [401, "missing_api_key", await ask("/v1/pets", { headers: {} })],
  ];
  for (const [status, code, response] of table) {
    assert.deepEqual([response.status, JSON.parse(response.text).code], [status, code]);
    assert.match(response.headers["x-ratelimit-limit"], /^\d+$/, code);
  }
});

test("nginx: failed authentication counts for the client itself, also with a forged X-Forwarded-For", { skip: skipNginx }, async () => {
  const statuses = [];
  for (let count = 0; count < 61; count += 1) {
    const headers = { "x-forwarded-for": `10.0.0.${count}` };
    statuses.push((await ask("/v1/pets", { headers, localAddress: "127.0.0.2" })).status);
  }
  assert.deepEqual(statuses, [...Array(60).fill(401), 429]);
  assert.equal((await ask("/v1/pets", { headers: {}, localAddress: "127.0.0.3" })).status, 401);
});

test("nginx: its connection to the server is kept from one request to the next", { skip: skipNginx }, async () => {
  await ask("/healthz");
  const countBefore = connectionCount;
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await ask("/healthz")).status, 200);
  }
  assert.equal(connectionCount, countBefore);
});

test("nginx: while the service is down, the response is an error in JSON, also from the balancer", { skip: skipNginx }, async (context) => {
  await service.stop();
  service = undefined;
  const { status, headers, text } = await add('{"name":"Rex","categoryId":5}');
  assert.deepEqual([status, headers["content-type"]], [502, "application/json"]);
  const { message, ...error } = JSON.parse(text);
  assert.deepEqual([error, typeof message], [{ code: "bad_gateway", status: 502 }, "string"]);

  const [balancerPort, deadPort] = [await freePort(), await freePort()];
  const recipe = await readFile(join(recipes, "balancer.conf"), "utf8");
  const site = recipe.replace("listen 80;", `listen 127.0.0.1:${balancerPort};`).replace("animals:3000", `127.0.0.1:${deadPort}`);
  const balancerFolder = temporaryFolder(context);
  const balancer = await startNginx(balancerFolder, site);
  context.after(() => balancer.stop("SIGQUIT"));
  const response = await fetch(`http://127.0.0.1:${balancerPort}/v1/pets`);
  assert.deepEqual([response.status, await response.text()], [502, text]);
});
