import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { favicon, type PublicPage } from "../../src/http/public-page.ts";
import { consolePages } from "../../src/cli/console-pages.ts";
import { root } from "../support/root.ts";
import { runningService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Run from build/test/cli. */
const builtFolder = join(root, "dist/console");
const sourceFolder = join(root, "src/console");

const bytesMax = 54_000;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

function pages(): readonly PublicPage[] {
  return consolePages(builtFolder);
}

async function origin(context: TestContext): Promise<string> {
  const { port } = await runningService(context, { publicPages: pages() });
  return `http://127.0.0.1:${port}`;
}

test("the console is a page at the root, with its style sheet and scripts, under a strict policy", async (context) => {
  const base = await origin(context);
  const table = [
    ["/", "text/html; charset=utf-8"],
    ["/console/style.css", "text/css; charset=utf-8"],
    ["/console/main.js", "text/javascript; charset=utf-8"],
  ] as const;
  for (const [path, contentType] of table) {
    const response = await fetch(base + path);
    assert.equal(response.status, 200, path);
    const expected = {
      "content-type": contentType,
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-cache",
      "x-ratelimit-limit": null,
    };
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(response.headers.get(name), value, `${path} ${name}`);
    }
  }
});

test("the console's files have entity tags: what is unchanged is 304, without content", async (context) => {
  const base = await origin(context);
  for (const { path } of pages()) {
    const etag = (await fetch(base + path)).headers.get("etag") ?? "";
    const response = await fetch(base + path, { headers: { "If-None-Match": etag } });
    assert.deepEqual([response.status, await response.text(), response.headers.get("etag")], [304, "", etag], path);
    const changed = await fetch(base + path, { headers: { "If-None-Match": '"other"' } });
    assert.equal(changed.status, 200);
  }
});

test("the console answers POST with 405 and an unknown file of its folder with 401", async (context) => {
  const base = await origin(context);
  assert.equal((await fetch(`${base}/`, { method: "POST" })).status, 405);
  assert.equal((await fetch(`${base}/console/other.js`)).status, 401);
});

test("an embedded service has no page at the root", async (context) => {
  const { port } = await runningService(context);
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 401);
});

test(`what a page load of the console takes, with its icon, has at most ${bytesMax} bytes in all, uncompressed`, () => {
  const contents = [...pages(), favicon].map((one) => one.show().content);
  const byteCount = contents.reduce((sum, content) => sum + Buffer.from(content ?? "").length, 0);
  assert.ok(byteCount <= bytesMax, `${byteCount} bytes`);
});

test("the console serves every file of its folder, byte for byte, and its document at the root", async (context) => {
  const base = await origin(context);
  const sources = readdirSync(sourceFolder).filter((name) => name !== "tsconfig.json");
  assert.ok(sources.length > 10);
  for (const source of sources) {
    const name = source.replace(/\.ts$/, ".js");
    const response = await fetch(name === "index.html" ? base : `${base}/console/${name}`);
    assert.equal(await response.text(), readFileSync(join(builtFolder, name), "utf8"), name);
  }
});

test("the console shows the release", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  assert.ok(readFileSync(join(builtFolder, "index.html"), "utf8").includes(`<small>${version}</small>`));
});

test("a missing build of the console stops the start with an error that names what is missing", (context) => {
  for (const folder of ["/nowhere/", temporaryFolder(context)]) {
    assert.throws(() => consolePages(folder), (error) => error instanceof Error && error.message.includes(folder));
  }
});
