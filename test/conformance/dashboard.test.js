/**
 * The metrics of the running service, and what the manual's recipes make of them: a dashboard for Grafana, and alert
 * rules for Prometheus.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { keepPair, one } from "../../build/test/support/certificates.js";
import { wholeResponse } from "../../build/test/support/client.js";
import { freePort } from "../../build/test/support/free-port.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { here, recipes, startService } from "./running-service.js";

const dashboard = JSON.parse(await readFile(join(recipes, "grafana-dashboard.json"), "utf8"));
const alertsPath = join(recipes, "alerts.yml");
const targets = dashboard.panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));

const skipPromtool = spawnSync("promtool", ["--version"]).error !== undefined && "promtool is not installed (Debian: prometheus)";

const metricsPort = await freePort();
const pairFolder = await mkdtemp(join(tmpdir(), "animal-store-pair-"));
const { cert, key } = keepPair(pairFolder, one);
const service = await startService(["--metrics-port", String(metricsPort), "--tls-cert", cert, "--tls-key", key]);
await wholeResponse(request(`${service.baseUrl}/pets`, { ca: one.cert }));
const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
await service.stop();
await rm(pairFolder, { recursive: true });

test("promtool finds no fault in the metrics", { skip: skipPromtool }, () => {
  const { status, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("the dashboard shows each metric of the service, and no metric or label that the service does not have", () => {
  const types = new Map(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => [name, type]));
  const isHistogram = (name) => types.get(name) === "histogram";
  const shown = new Set();
  for (const { title, expr } of targets) {
    const selectors = [...expr.matchAll(/([a-z_:]+)\{([^}]*)\}/g)];
    assert.ok(selectors.length > 0 && selectors.length === expr.match(/animal_store_|process_/g).length, `${title}: ${expr}`);
    for (const [, name, matchers] of selectors) {
      const metric = name.replace(/_(bucket|count|sum)$/, "");
      const family = isHistogram(metric) ? metric : name;
      const [, labels = ""] = new RegExp(`^${name}(?:\\{(.*)\\})? `, "m").exec(text) ?? assert.fail(`${title}: ${name}`);
      shown.add(family);
      const matched = Array.from(matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g), ([, label]) => label);
      const grouped = Array.from(expr.matchAll(/by \(([^)]*)\)/g), ([, labels]) => labels.split(", ")).flat();
      const own = Array.from(labels.matchAll(/(\w+)="/g), ([, label]) => label);
      // Prometheus adds two, and `label_replace` may make one.
      const known = ["job", "instance", /label_replace\(.*\), "(\w+)"/.exec(expr)?.[1], ...own];
      assert.deepEqual([...matched, ...grouped].filter((label) => !known.includes(label)), [], `${title}: ${expr}`);
    }
  }
  assert.deepEqual([...shown].sort(), [...types.keys()].sort());
});

test("promtool reads each expression of the dashboard", { skip: skipPromtool }, async (context) => {
  const rules = targets.map(({ expr }, index) => {
    return { record: `dashboard:expression${index}`, expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".+") };
  });
  const path = join(temporaryFolder(context), "rules.yml"); // JSON is YAML.
  await writeFile(path, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "rules", path], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`SUCCESS: ${rules.length} rules found`));
});

test("promtool finds no fault in the alert rules, and each fires when it should, and not before", { skip: skipPromtool }, () => {
  for (const args of [["check", "rules", alertsPath], ["test", "rules", join(here, "alerts.yml")]]) {
    const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  }
});

test("the alert rules name no metric and no label that the service does not have, and each is tested", async () => {
  const rules = (await readFile(alertsPath, "utf8")).replace(/^#.*$/gm, "");
  const used = [...rules.matchAll(/\b(animal_store_\w+)(?:\{([^}]*)\})?/g)];
  assert.ok(used.length > 0);
  for (const [, name, matchers = ""] of used) {
    const [, own = ""] = new RegExp(`^${name}(?:\\{(.*)\\})? `, "m").exec(text) ?? assert.fail(name);
    for (const [, label] of matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)) {
      assert.ok(own.includes(`${label}="`), `${name} has no label ${label}`);
    }
  }
  const cases = await readFile(join(here, "alerts.yml"), "utf8");
  for (const [, alert] of rules.matchAll(/alert: (\w+)/g)) {
    assert.match(cases, new RegExp(`alertname: ${alert}\n +exp_alerts:`), alert);
  }
});
