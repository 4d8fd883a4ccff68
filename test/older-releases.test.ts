/**
 * A data folder that an older release wrote (release-1.1/, release-1.2/, release-2.0/) is served as it was. Its secrets are worth
 * nothing anywhere else.
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

/**
 * The secrets of what each release wrote. Of `enterprise`, the five requests of the minute are used up, and of `business`
 * so many of the day.
 */
const releases = {
  "1.1": {
    pro: "as_0P5jGGTwPjdZZdFyamEhuSHNSUF9vzr9RQlDhTe31tQ",
    enterprise: "as_wZPuht514BVKbV4KQQFUEht9sPrIA0FXxBoXOXCrGSp",
    revoked: "as_kZEpL61WIVbRp1uinXHFyPianWFtJmzRsO7xbcpWG5h",
    replaced: "as_vdudyYi0yNPCj2uLgIhlKJwVJRuGAF4zYgFuX1eif25",
    business: "as_seHXcr8h1Lf8awRjMP0ozzUFTQUqvjonDFKICvgW4a6",
    businessUsed: 1,
    label: null,
  },
  "1.2": {
    pro: "as_3vRzBl0bqoZfEAQzunp4c9Xtkoue6xcKwTTOiGB5g0i",
    enterprise: "as_eNUEu4lfUXZi2XRyxMl7QoEQUaoQkTxhLCb3Hx7riRE",
    revoked: "as_muotlzOBqBjHbS38RYSFFpDQFgLN4f2VGKybcSPz20g",
    replaced: "as_I9Oa5ZG6Y68yduMZV8nxmY2zamvCgvx9XjKMKFybUj0",
    business: "as_tt6OLqSU5pTYQXK12RkfkniAgrK1cuqZMFiitRpjK2f",
    businessUsed: 1,
    label: null,
  },
  "2.0": {
    pro: "as_AVWYK6vMe5hIsZ1rfeEmW4BKf6Wacdm0cPzj90cSqbj",
    enterprise: "as_ArcuQPDJuSRj8Vc6LE4A3WqhpnipL76r63Av5krovQ2",
    revoked: "as_JS3LcNLnduSAA36dibfW77kSnB5rhasG1OWGprfEEqp",
    replaced: "as_stpHhoNda4dbWDnBLMWzoeuQp6EE4WAcNpiOI2h1aYy",
    business: "as_RZ3yFAuRTU0Bp2IbA3AhlH7K2YZg02O7Xjr1xgmIixx",
    businessUsed: 4,
    label: "till",
  },
};

for (const [release, from] of Object.entries(releases)) {
  test(`a data folder of release ${release} is served: its animals, idempotency keys, keys and limits`, (context) =>
    servesFolder(context, release, from));
}

test("the changes of status that release 2.0 wrote hold, and one that is repeated is replayed", async (context) => {
  const { as } = await servedFolder(context, "2.0");
  const animal = (await as(releases["2.0"].pro).get("/v1/pets/1")).text;
  assert.equal(animal, '{"id":1,"name":"Rex","categoryId":1,"status":"available"}', "it was reserved, sold and freed");
  const repeated = await as(releases["2.0"].business).change(1, "sold", { "if-match": "pending", "idempotency-key": "sale-1" });
  assert.deepEqual([repeated.status, repeated.headers["idempotent-replayed"]], [200, "true"]);
});

type Written = (typeof releases)["1.2" | "2.0"];

async function servesFolder(context: TestContext, release: string, from: Written): Promise<void> {
  const { as, service, reports, lines } = await servedFolder(context, release);
  assert.deepEqual(await as(from.pro).animalsAfter(0), lines.slice(0, 3).map((line) => line.replace(/,"group".*/, "}")));
  const cat = { name: 'Ünal \u202e "the" cat', categoryId: 0, status: "sold" };
  const reused = await as(from.pro).add(cat, { "idempotency-key": "order-1" });
  assert.equal(reused.status, 422, "the key was used for an animal of another category");
  const statuses = [];
  for (const key of [from.enterprise, from.revoked, from.replaced, from.business]) {
    statuses.push((await as(key).get("/v1/limits")).status);
  }
  assert.deepEqual(statuses, [429, 401, 401, 200]);
  const limits = JSON.parse((await as(from.business).get("/v1/limits")).text) as { plan: string; day: { remaining: number } };
  assert.deepEqual([limits.plan, limits.day.remaining], ["business", 100_000 - from.businessUsed - 2]);
  const added = await as(from.business).add({ name: "of this release", categoryId: 1 });
  assert.equal(added.headers["location"], "/v1/pets/4");
  const labels = (await service.keys.list()).map(({ label }) => label ?? null);
  assert.deepEqual(labels, ["shop, front", null, "gone", from.label, null]);
  assert.deepEqual(reports, []);
}

/** Serves a copy of the folder, a second after it was last saved. */
async function servedFolder(context: TestContext, release: string) {
  const written = join(root, `test/release-${release}`);
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
