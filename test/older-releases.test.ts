/**
 * A data folder that the release before wrote (release-2.1/) is served as it was. Its secrets are worth nothing anywhere
 * else.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { ManualClock } from "./support/manual-clock.ts";
import { newClient } from "./support/client.ts";
import { root } from "./support/root.ts";
import { runningService } from "./support/running-service.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** Its secrets. Of `enterprise`, the five requests of the minute are used up, and of `business` four of the day. */
const keys = {
  pro: "as_bomwwI2FBbqSn1U19cBlX9f7ef2IMN0vEVRVdutvoyX",
  enterprise: "as_YevLJ2fl9d0AmK9GBtCUB3Kv8XAwakoMeyEg7pDyrhx",
  revoked: "as_GP8gE7I2DJGJez5KKaZZzxt0j7jpH4N5xNVBX7jp7BV",
  replaced: "as_4r1mraQQ5e81Q9ryuM3tMJBrBNBro33Lfl8naUrxTkm",
  business: "as_o5k3vNdzMrx0sQtktCQAffPkU1WQZFtbJrzW7aLaI2y",
};

test("the data folder of the release before is served: its animals, idempotency keys, keys and limits", async (context) => {
  const { as, service, reports, lines } = await servedFolder(context);
  assert.deepEqual(await as(keys.pro).animalsAfter(0), lines.slice(0, 3).map((line) => line.replace(/,"group".*/, "}")));
  const cat = { name: 'Ünal \u202e "the" cat', categoryId: 0, status: "sold" };
  const reused = await as(keys.pro).add(cat, { "idempotency-key": "order-1" });
  assert.equal(reused.status, 422, "the key was used for an animal of another category");
  const statuses = [];
  for (const key of [keys.enterprise, keys.revoked, keys.replaced, keys.business]) {
    statuses.push((await as(key).get("/v1/limits")).status);
  }
  assert.deepEqual(statuses, [429, 401, 401, 200]);
  const limits = JSON.parse((await as(keys.business).get("/v1/limits")).text) as { plan: string; day: { remaining: number } };
  assert.deepEqual([limits.plan, limits.day.remaining], ["business", 100_000 - 4 - 2]);
  const added = await as(keys.business).add({ name: "of this release", categoryId: 1 });
  assert.equal(added.headers["location"], "/v1/pets/4");
  const labels = (await service.keys.list()).map(({ label }) => label ?? null);
  assert.deepEqual(labels, ["shop, front", null, "gone", "till", null, null]);
  assert.deepEqual(reports, []);
});

test("the changes of status that it wrote hold, and one that is repeated is replayed", async (context) => {
  const { as } = await servedFolder(context);
  const animal = (await as(keys.pro).get("/v1/pets/1")).text;
  assert.equal(animal, '{"id":1,"name":"Rex","categoryId":1,"status":"available"}', "it was reserved, sold and freed");
  const repeated = await as(keys.business).change(1, "sold", { "if-match": "pending", "idempotency-key": "sale-1" });
  assert.deepEqual([repeated.status, repeated.headers["idempotent-replayed"]], [200, "true"]);
});

/** Serves a copy of the folder, a second after it was last saved. */
async function servedFolder(context: TestContext) {
  const written = join(root, "test/release-2.1");
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
  return { as, service, reports, lines: readFileSync(join(written, "pets.jsonl"), "utf8").trimEnd().split("\n") };
}
