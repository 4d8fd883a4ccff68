/** The package's client in a page of another origin. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { startKilledShop } from "../../build/test/support/killed-shop.js";
import { skipNginx } from "../../build/test/support/nginx.js";
import { closeBrowser, here, openPage, skip } from "./console.js";

after(closeBrowser);

/** Serves a page and the client's file. @returns its origin */
async function startSite(context) {
  const files = { "/": ["text/html", ""], "/client.js": ["text/javascript", await readFile(join(here, "../../dist/client/client.js"))] };
  const site = createServer((request, response) => {
    const [type, content] = files[request.url] ?? files["/"];
    response.setHeader("Content-Type", type).end(content);
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  context.after(() => {
    site.close();
    site.closeAllConnections();
  });
  return `http://127.0.0.1:${site.address().port}`;
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
