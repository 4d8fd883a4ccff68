import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startProcess } from "../../build/test/support/program.js";
import { freePort, here, startService } from "./running-service.js";

let service;
let prism;
let proxyUrl;

before(async () => {
  service = await startService();
  const path = join(here, "generated", "openapi-prism.json");
  await writeFile(path, await (await fetch(`${service.origin}/openapi.json`)).text());
  const port = await freePort();
  proxyUrl = `http://127.0.0.1:${port}`;
  const program = join(here, "node_modules", "@stoplight", "prism-cli", "dist", "index.js");
  const args = [program, "proxy", path, service.baseUrl, "--port", String(port), "--host", "127.0.0.1"];
  prism = await startProcess(undefined, process.execPath, args, /Prism is listening/);
});

after(async () => {
  await prism.stop();
  await service.stop();
});

/** Sends the request through Prism and returns the status and what Prism finds wrong, with requests and responses. */
async function ask(path, { key = service.apiKey, ...options } = {}) {
  const headers = { ...(key === "" ? {} : { authorization: `Bearer ${key}` }), "content-type": "application/json" };
  const response = await fetch(proxyUrl + path, { headers, ...options });
  await response.arrayBuffer();
  const violations = JSON.parse(response.headers.get("sl-violations") ?? "[]");
  const ofResponse = violations.filter(({ location }) => location[0] === "response");
  return { status: response.status, violations, ofResponse };
}

test("Prism finds no violation in requests that are right, nor in their responses", async () => {
  for (const content of [{ name: "Rex", categoryId: 5 }, { name: "Misty 🐈", categoryId: -7, status: "sold" }]) {
    const created = await ask("/pets", { method: "POST", body: JSON.stringify(content) });
    assert.deepEqual([created.status, created.violations], [201, []]);
  }
  for (const path of ["/pets", "/pets?limit=1", "/pets?limit=100&status=sold&after=1", "/pets?after=99", "/pets/1"]) {
    const read = await ask(path);
    assert.deepEqual([path, read.status, read.violations], [path, 200, []]);
  }
  const none = await ask("/pets/99");
  assert.deepEqual([none.status, none.violations], [404, []]);
  const limits = await ask("/limits");
  assert.deepEqual([limits.status, limits.violations], [200, []]);
});

test("Prism finds no violation in the responses to requests that are wrong", async () => {
  const table = [
    [401, "/pets", { key: "" }],
    [401, "/pets/1", { key: "as_wrong" }],
    [400, "/pets?limit=0", {}],
    [400, "/pets?status=dead", {}],
    [400, "/pets", { method: "POST", body: JSON.stringify({ name: "Rex" }) }],
    [400, "/pets", { method: "POST", body: JSON.stringify({ name: "", categoryId: 1.5, id: 1 }) }],
    [413, "/pets", { method: "POST", body: JSON.stringify({ name: "x".repeat(20_000), categoryId: 1 }) }],
    [404, "/pets/rex", {}],
    [401, "/limits", { key: "" }],
  ];
  for (const [status, path, options] of table) {
    const refused = await ask(path, options);
    assert.deepEqual([path, refused.status, refused.ofResponse], [path, status, []]);
  }
  console.log(`Prism forwarded ${prism.output().stdout.split("Forwarding").length - 1} requests`);
});
