/** The package's client in a page of another origin. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { serve } from "../../build/test/support/embedding-server.js";
import { startKilledShop } from "../../build/test/support/killed-shop.js";
import { skipNginx } from "../../build/test/support/nginx.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { closeBrowser, here, openPage, skip } from "./console.js";

after(closeBrowser);

const conformance = join(here, "..", "conformance");
const importMap = '<script type="importmap">{"imports":{"animal-store/client":"/client.js"}}</script>';

/** Serves a page, the client's file, and the round that the client makes in every runtime. @returns its origin */
async function startSite(context) {
  const files = {
    "/": ["text/html", importMap],
    "/client.js": ["text/javascript", await readFile(join(here, "../../dist/client/client.js"))],
    "/round.mjs": ["text/javascript", await readFile(join(conformance, "client/round.mjs"))],
  };
  const port = await serve(context, (request, response) => {
    const [type, content] = files[request.url] ?? files["/"];
    response.setHeader("Content-Type", type).end(content);
  });
  return `http://127.0.0.1:${port}`;
}

/**
 * The service behind an Express that answers CORS itself, as gateways and the middleware `cors` do: it allows every
 * origin, and exposes nothing. With `isHiding` the service never learns of the origin.
 */
async function startGateway(context, isHiding) {
  const express = createRequire(join(conformance, "package.json"))("express");
  const { openAnimalStore } = await import("../../dist/index.js");
  const service = await openAnimalStore({ dataDir: temporaryFolder(context), report: () => undefined });
  context.after(() => service.close());
  const app = express();
  app.use((request, response, next) => {
    response.setHeader("Access-Control-Allow-Origin", "*");
    if (request.method === "OPTIONS") {
      response.setHeader("Access-Control-Allow-Methods", "GET,HEAD,PUT,PATCH,POST,DELETE");
      response.setHeader("Access-Control-Allow-Headers", request.headers["access-control-request-headers"] ?? "");
      response.status(204).end();
      return;
    }
    if (isHiding) {
      delete request.headers.origin;
      const at = request.rawHeaders.findIndex((name) => name.toLowerCase() === "origin");
      request.rawHeaders.splice(at, at < 0 ? 0 : 2);
    }
    next();
  });
  app.use(service.handle);
  return { service, url: `http://127.0.0.1:${await serve(context, app)}/v1` };
}

test("behind an Express that answers CORS itself, the client makes the round that it makes in every runtime", { skip }, async (context) => {
  const { service, url } = await startGateway(context, false);
  const { key } = await service.keys.create({ plan: "business" });
  const page = await openPage(context, await startSite(context));
  await page.evaluate(async (env) => {
    globalThis.process = { env };
    await import("/round.mjs");
  }, { URL: url, KEY: key });
  const { pets } = await service.pets.list();
  assert.deepEqual(pets.map(({ name }) => name), ["Luna \u{1f415}", "Rex"]);
});

for (const isHiding of [false, true]) {
  const how = isHiding ? "hides every field" : "exposes none itself";
  test(`behind an Express that ${how}, a page lists all animals, and 200 calls at once are no ban`, { skip }, async (context) => {
    const { service, url } = await startGateway(context, isHiding);
    const { key } = await service.keys.create({ plan: "free" });
    await Promise.all(Array.from({ length: 200 }, (_, index) => service.pets.add({ name: `Rex ${index}`, categoryId: 1 })));
    const page = await openPage(context, await startSite(context));
    const statuses = [];
    page.on("response", (response) => statuses.push(response.status()));
    const seen = await page.evaluate(async ([address, apiKey]) => {
      const { AnimalStoreClient } = await import("/client.js");
      const { pets } = new AnimalStoreClient({ url: address, key: apiKey, timeoutMs: 5_000 });
      const ids = [];
      for await (const { id } of pets.all()) ids.push(id);
      const { requestId } = await pets.get(999).catch((error) => error);
      const calls = await Promise.allSettled(Array.from({ length: 200 }, () => pets.list()));
      return { count: new Set(ids).size, isShown: requestId !== undefined, codes: [...new Set(calls.map(({ reason }) => reason?.code))] };
    }, [url, key]);
    assert.deepEqual(seen, { count: 200, isShown: !isHiding, codes: [undefined, "rate_limited"] });
    const refused = statuses.filter((status) => status === 429).length;
    assert.ok(refused > 0 && refused <= 9, `${refused} refused`);
    const [{ bannedUntil }] = await service.keys.list();
    assert.equal(bannedUntil, null);
  });
}

/** A used-up minute takes up to a minute, twice if a kill made the server forget the first. */
const options = { skip: skip || skipNginx, timeout: 240_000 };

test("200 adds from another origin, through kills behind nginx and a used-up minute: exactly 200 animals, no ban", options, async (context) => {
  const site = await startSite(context);
  const { url, key, killed, check } = await startKilledShop(context, {
    killsAt: [20, 40, 60], // Far more animals than a minute has requests are left after the last one.
    perMinute: 80,
    args: ["--cors-origin", site],
  });
  const page = await openPage(context, site);
  const statuses = [];
  page.on("response", (response) => statuses.push(response.status()));
  const late = await page.evaluate(async ([address, apiKey]) => {
    const { AnimalStoreClient } = await import("/client.js");
    const { pets } = new AnimalStoreClient({ url: address, key: apiKey });
    const queue = Array.from({ length: 200 }, (_, index) => index);
    const worker = async () => {
      for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
        await pets.add({ name: `Rex ${index}`, categoryId: 2n ** 63n - 1n });
      }
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    const late = await pets.changeStatus(1, "sold", { from: "pending" }).catch((error) => error);
    const [{ categoryId }] = (await pets.list()).pets;
    return { code: late.code, petStatus: late.petStatus, hasRequestId: late.requestId.length > 0, categoryId: String(categoryId) };
  }, [url, key]);
  await killed;
  await check(200);
  assert.deepEqual(late, { code: "precondition_failed", petStatus: "available", hasRequestId: true, categoryId: "9223372036854775807" });
  assert.ok(statuses.includes(429), "the minute was used up");
});
