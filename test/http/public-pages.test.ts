/**
 * The public pages: no key, no token, no rate fields; a page that never changes is kept by clients (RFC 9110, 13.1.2).
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { livePage } from "../../src/http/public-page.ts";
import { FailingStore } from "../support/failing-store.ts";
import { runningService, startService } from "../support/running-service.ts";
import { assertPromised } from "../support/wire-response.ts";
import { exchange, request } from "../support/wire.ts";

const running = await startService();
after(() => running.close());

const target = "/favicon.ico";

test("/favicon.ico is an SVG image without a key, and no address is charged for it", async () => {
  for (const key of ["", "as_wrong", running.key]) {
    const icon = await exchange(running.port, request({ target, key }));
    assert.equal(icon.status, 200);
    assert.equal(icon.value("content-type"), "image/svg+xml");
    assert.equal(icon.value("content-length"), String(icon.contentBytes));
    assert.equal(icon.value("x-content-type-options"), "nosniff");
    assert.match(icon.value("x-request-id") ?? "", /./);
    assert.equal(icon.value("x-ratelimit-limit"), undefined);
    assert.match(icon.content, /^<svg .*<\/svg>$/);
  }
  const charged = await exchange(running.port, request({}));
  assert.deepEqual([charged.status, charged.value("x-ratelimit-remaining")], [401, "59"]);
});

test("a page that the client has cached is 304, without content", async () => {
  const etag = (await exchange(running.port, request({ target }))).value("etag") ?? "";
  assert.match(etag, /^"[\w-]{22}"$/);
  const table = [
    [304, etag],
    [304, `W/${etag}`],
    [304, `"a", ${etag}`],
    [304, `"a",W/${etag} , "b"`],
    [304, "*"],
    [200, '"a"'],
    [200, etag.slice(1, -1)],
    [200, `"${etag}"`],
    [200, ""],
  ] as const;
  for (const [status, tags] of table) {
    for (const method of ["GET", "HEAD"]) {
      const response = await exchange(running.port, request({ method, target, fields: [`If-None-Match: ${tags}`] }));
      assert.equal(response.status, status, tags);
      assert.equal(response.value("etag"), etag);
      assert.equal(response.value("cache-control"), "no-cache");
      assert.equal(response.value("x-content-type-options"), "nosniff");
      assert.match(response.value("x-request-id") ?? "", /^[\w-]+$/);
      assert.equal(response.value("content-type"), status === 304 ? undefined : "image/svg+xml");
      assert.equal(response.value("content-length") === undefined, status === 304);
    }
  }
});

test("If-None-Match changes nothing on pages that clients do not cache, and on other methods", async () => {
  for (const path of ["/healthz", "/openapi.json"]) {
    const response = await exchange(running.port, request({ target: path, fields: ["If-None-Match: *"] }));
    assert.equal(response.status, 200);
    assertPromised(response, { isPublic: true });
  }
  const refused = await exchange(running.port, request({ method: "POST", target, fields: ["If-None-Match: *"] }));
  assert.equal(refused.status, 405);
});

test("/livez is 200 as long as the process serves, whatever its storage does, also while stopping, and in no embedded service", async (context) => {
  const { service, port } = await runningService(context, { options: { store: new FailingStore() }, publicPages: [livePage] });
  const statusesOf = async (): Promise<readonly (number | string)[]> => {
    const [live, health] = [await exchange(port, request({ target: "/livez" })), await exchange(port, request({ target: "/healthz" }))];
    assertPromised(live, { isPublic: true });
    return [live.status, live.content, health.status];
  };
  assert.deepEqual(await statusesOf(), [200, '{"status":"ok"}', 503]);
  service.beginStopping();
  assert.deepEqual(await statusesOf(), [200, '{"status":"ok"}', 503]);
  assert.equal((await exchange(running.port, request({ target: "/livez" }))).status, 401);
});
