import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { freePort, startService } from "./running-service.js";

test("parsers of the Prometheus text format read /metrics", async (context) => {
  const metricsPort = await freePort();
  const service = await startService(["--metrics-port", String(metricsPort)]);
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  await fetch(`${service.baseUrl}/pets`, { method: "POST", headers, body: '{"name":"Rex","categoryId":5}' });
  await fetch(`${service.baseUrl}/pets`, { headers });
  await fetch(`${service.baseUrl}/pets`);
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const text = await response.text();
  await service.stop();

  assert.match(response.headers.get("content-type"), /^text\/plain; version=0\.0\.4/);
  const families = new Map(parsePrometheusTextFormat(text).map((family) => [family.name, family]));
  assert.equal(families.size, text.match(/^# TYPE /gm).length, "each family is read");
  for (const [name, family] of families) {
    assert.ok(family.help !== "" && family.metrics.length > 0, name);
  }
  const requests = families.get("animal_store_requests_total");
  assert.equal(requests.type, "COUNTER");
  const counted = requests.metrics.map(({ labels: { method, route, status }, value }) => [method, route, status, value]);
  assert.deepEqual(counted.map((each) => each.join(" ")).sort(), [
    "GET /pets 200 1",
    "GET none 401 1",
    "POST /pets 201 1",
  ]);
  console.log(`${families.size} families: ${[...families.keys()].join(", ")}`);

  await context.test("promtool finds no fault", (inner) => {
    const promtool = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    if (promtool.error !== undefined) {
      inner.skip("promtool is not installed (Debian: prometheus)");
      return;
    }
    assert.equal(promtool.status, 0, promtool.stderr);
  });
});
