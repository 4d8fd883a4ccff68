/**
 * What an embedder gives: checked once, and made harmless.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { oneLine } from "../src/base/redact-secrets.ts";
import { type AnimalStoreOptions, checkOptions } from "../src/options.ts";
import { openAnimalStore } from "../src/service.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const secret = `as_${"x".repeat(43)}`;

test("checkOptions() resolves a relative dataDir at once", (context) => {
  const folder = temporaryFolder(context);
  const before = process.cwd();
  const { storage } = checkOptions({ dataDir: "data" });
  process.chdir(folder);
  context.after(() => process.chdir(before));
  assert.equal(storage, join(before, "data"));
});

test("checkOptions() makes a report harmless that throws, rejects, or returns a broken promise", async () => {
  const reports: (() => unknown)[] = [
    () => assert.fail("thrown"),
    () => Promise.reject(new Error("rejected")),
    () => ({ then: () => assert.fail("thrown by then") }),
    () => ({ get then() { return assert.fail("thrown by a getter"); } }),
  ];
  for (const report of reports) {
    checkOptions({ dataDir: "data", report }).report("message");
  }
  await setImmediate(); // An unhandled rejection would end the test here.
});

test("checkOptions() makes every report one line without keys", () => {
  const lines: string[] = [];
  const { report } = checkOptions({ dataDir: "data", report: (message) => void lines.push(message) });
  report(`a\nb\r\nc\u2028d\u2029e\u0085f\x1b[31m ${secret}\n`);
  assert.deepEqual(lines, ["a b c d e f [31m as_…"]);
  assert.equal(oneLine("plain"), "plain");
});

test("the level of a message is an argument of the embedder's report", () => {
  const messages: unknown[] = [];
  const { report } = checkOptions({ dataDir: "data", report: (...message) => void messages.push(message) });
  report("a");
  report("b", "warning");
  assert.deepEqual(messages, [["a", "info"], ["b", "warning"]]);
});

test("checkOptions() takes a base address beyond ASCII in its ASCII form", async (context) => {
  const baseUrl = "https://例え.example/shop/v1";
  const ascii = "https://xn--r8jz45g.example/shop/v1";
  const options = checkOptions({ dataDir: "data", baseUrl, stagingBaseUrl: baseUrl });
  assert.deepEqual([options.baseUrl, options.stagingBaseUrl, options.basePath], [ascii, ascii, "/shop/v1"]);
  const store = await openAnimalStore({ dataDir: temporaryFolder(context), baseUrl });
  assert.match(JSON.stringify(store.description), /"https:\/\/xn--r8jz45g\.example\/shop\/v1"/);
  await store.close();
});

test("checkOptions() refuses wrong options in one line without keys", () => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const table: readonly (readonly [string, unknown, RegExp])[] = [
    ["dataDir", "a\0b", /dataDir must be the path of a folder$/],
    ["dataDir", "", /dataDir must be the path of a folder$/],
    ["dataDir", 5, /dataDir must be the path of a folder$/],
    ["baseUrl", 5n, /baseUrl must be .*, received 5n$/],
    ["baseUrl", circular, /baseUrl must be .*, received .*Circular/],
    ["baseUrl", `https://a.example/${secret}`, /baseUrl must be .*, received "https:\/\/a.example\/as_…"$/],
    ["baseUrl", `https://a.example/${secret}/v1`, /baseUrl must not contain an API key, received "[^"]*as_…/],
    ["stagingBaseUrl", `https://a.example/${secret}/v1`, /stagingBaseUrl must not contain an API key/],
    ["baseUrl", "view-https://a.example/v1", /baseUrl must be an http or https address/],
    ["baseUrl", 'https://a"b/v1', /baseUrl must have a host of /],
    ["baseUrl", "https://a`b/v1", /baseUrl must have a host of /],
    ["baseUrl", "https://a{b}/v1", /baseUrl must have a host of /],
    ["stagingBaseUrl", "https://a.example/\nv1", /stagingBaseUrl must be /],
    ["trustProxy", "1", /trustProxy must be an integer from 0 to 32, received "1"$/],
    ["trustProxy", -1, /trustProxy must be an integer from 0 to 32, received -1$/],
    ["trustProxy", 33, /trustProxy must be an integer from 0 to 32, received 33$/],
    ["corsOrigins", "https://a.example", /corsOrigins must be an array of origins/],
    ["corsOrigins", ["HTTPS://A.example:443/shop"], /"HTTPS:\/\/A\.example:443\/shop" is not one: browsers send "https:\/\/a\.example", received/],
    ["corsOrigins", ["app://b\u00fccher"], /"app:\/\/b\u00fccher" is not one, received/],
    ["corsOrigins", ["app://*.shop"], /"app:\/\/\*\.shop" is not one, received/],
    ["corsOrigins", ["file:///shop"], /"file:\/\/\/shop" is not one, received/],
    ["corsOrigins", [5], /corsOrigins is of the wrong type, received \[ 5 \]$/],
    [`line\n${secret}`, 1, /there is no option "line as_…"$/],
  ];
  for (const [name, value, message] of table) {
    const options = { dataDir: "data", [name]: value } as AnimalStoreOptions; // Wrong on purpose.
    assert.throws(() => checkOptions(options), (error) => {
      assert.ok(error instanceof RangeError);
      assert.match(error.message, /^Cannot open animal store: [^\n]*$/);
      assert.match(error.message, message);
      return true;
    });
  }
});
