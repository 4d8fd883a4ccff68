/**
 * A data folder that release 1.1 wrote (release-1.1/) is served as it was. Its secrets are worth nothing anywhere else.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ManualClock } from "./support/manual-clock.ts";
import { newClient } from "./support/client.ts";
import { root } from "./support/root.ts";
import { runningService } from "./support/running-service.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const written = join(root, "test/release-1.1");

const pro = "as_0P5jGGTwPjdZZdFyamEhuSHNSUF9vzr9RQlDhTe31tQ";
/** Five requests a minute: all used up, and one refused. */
const enterprise = "as_wZPuht514BVKbV4KQQFUEht9sPrIA0FXxBoXOXCrGSp";
const revoked = "as_kZEpL61WIVbRp1uinXHFyPianWFtJmzRsO7xbcpWG5h";
const replaced = "as_vdudyYi0yNPCj2uLgIhlKJwVJRuGAF4zYgFuX1eif25";
const business = "as_seHXcr8h1Lf8awRjMP0ozzUFTQUqvjonDFKICvgW4a6";

test("a data folder of release 1.1 is served: its animals, idempotency keys, keys and limits", async (context) => {
  const dataDir = temporaryFolder(context);
  cpSync(written, dataDir, { recursive: true });
  const { savedMs } = JSON.parse(readFileSync(join(written, "limits.json"), "utf8")) as { savedMs: number };
  const clock = new ManualClock({ wallMs: savedMs + 1_000 });
  const { port, service, reports } = await runningService(context, { options: { dataDir }, clock });
  const as = (key: string): ReturnType<typeof newClient> => {
    const client = newClient({ origin: `http://127.0.0.1:${port}` }, key);
    context.after(() => client.close());
    return client;
  };

  const lines = readFileSync(join(written, "pets.jsonl"), "utf8").trimEnd().split("\n");
  assert.deepEqual(await as(pro).animalsAfter(0), lines.map((line) => line.replace(/,"group".*/, "}")));
  const cat = { name: 'Ünal \u202e "the" cat', categoryId: 0, status: "sold" };
  const reused = await as(pro).add(cat, { "idempotency-key": "order-1" });
  assert.equal(reused.status, 422, "the key was used for an animal of another category");
  const statuses = [];
  for (const key of [enterprise, revoked, replaced, business]) {
    statuses.push((await as(key).get("/v1/limits")).status);
  }
  assert.deepEqual(statuses, [429, 401, 401, 200]);
  const limits = JSON.parse((await as(business).get("/v1/limits")).text) as { plan: string; day: { remaining: number } };
  assert.deepEqual([limits.plan, limits.day.remaining], ["business", 100_000 - 3]);
  const added = await as(business).add({ name: "of 1.2", categoryId: 1 });
  assert.equal(added.headers["location"], "/v1/pets/4");
  assert.deepEqual((await service.keys.list()).map(({ label }) => label ?? null), ["shop, front", null, "gone", null, null]);
  assert.deepEqual(reports, []);
});
