/**
 * A data folder that an older release wrote (release-1.1/, release-1.2/) is served as it was. Its secrets are worth
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

/** The secrets of what each release wrote. Of `enterprise`, the five requests of the minute are used up. */
const releases = {
  "1.1": {
    pro: "as_0P5jGGTwPjdZZdFyamEhuSHNSUF9vzr9RQlDhTe31tQ",
    enterprise: "as_wZPuht514BVKbV4KQQFUEht9sPrIA0FXxBoXOXCrGSp",
    revoked: "as_kZEpL61WIVbRp1uinXHFyPianWFtJmzRsO7xbcpWG5h",
    replaced: "as_vdudyYi0yNPCj2uLgIhlKJwVJRuGAF4zYgFuX1eif25",
    business: "as_seHXcr8h1Lf8awRjMP0ozzUFTQUqvjonDFKICvgW4a6",
  },
  "1.2": {
    pro: "as_3vRzBl0bqoZfEAQzunp4c9Xtkoue6xcKwTTOiGB5g0i",
    enterprise: "as_eNUEu4lfUXZi2XRyxMl7QoEQUaoQkTxhLCb3Hx7riRE",
    revoked: "as_muotlzOBqBjHbS38RYSFFpDQFgLN4f2VGKybcSPz20g",
    replaced: "as_I9Oa5ZG6Y68yduMZV8nxmY2zamvCgvx9XjKMKFybUj0",
    business: "as_tt6OLqSU5pTYQXK12RkfkniAgrK1cuqZMFiitRpjK2f",
  },
};

for (const [release, secrets] of Object.entries(releases)) {
  test(`a data folder of release ${release} is served: its animals, idempotency keys, keys and limits`, (context) =>
    servesFolder(context, release, secrets));
}

type Secrets = (typeof releases)["1.2"];

async function servesFolder(context: TestContext, release: string, secrets: Secrets): Promise<void> {
  const { pro, enterprise, revoked, replaced, business } = secrets;
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
  const added = await as(business).add({ name: "of this release", categoryId: 1 });
  assert.equal(added.headers["location"], "/v1/pets/4");
  assert.deepEqual((await service.keys.list()).map(({ label }) => label ?? null), ["shop, front", null, "gone", null, null]);
  assert.deepEqual(reports, []);
}
