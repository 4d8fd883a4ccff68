/**
 * Data folders that earlier releases wrote (release-2.1/, release-3.0/) are served as they were. Their secrets are worth
 * nothing anywhere else.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { nodeDisk } from "../src/disk/node-disk.ts";
import type { PetStatus } from "../src/pets/pet.ts";
import { openPetStore } from "../src/store/json-lines-pet-store.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { newClient } from "./support/client.ts";
import { root } from "./support/root.ts";
import { runningService } from "./support/running-service.ts";
import { always } from "./support/store-suites/suite-steps.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** The secrets of 2.1. Of `enterprise`, the five requests of the minute are used up, and of `business` four of the day. */
const keys = {
  pro: "as_bomwwI2FBbqSn1U19cBlX9f7ef2IMN0vEVRVdutvoyX",
  enterprise: "as_YevLJ2fl9d0AmK9GBtCUB3Kv8XAwakoMeyEg7pDyrhx",
  revoked: "as_GP8gE7I2DJGJez5KKaZZzxt0j7jpH4N5xNVBX7jp7BV",
  replaced: "as_4r1mraQQ5e81Q9ryuM3tMJBrBNBro33Lfl8naUrxTkm",
  business: "as_o5k3vNdzMrx0sQtktCQAffPkU1WQZFtbJrzW7aLaI2y",
};

test("the data folder of release 2.1 is served: its animals, idempotency keys, keys and limits", async (context) => {
  const { as, service, reports, lines } = await servedFolder(context, "release-2.1");
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

test("the changes of status that release 2.1 wrote hold, and one that is repeated is replayed", async (context) => {
  const { as } = await servedFolder(context, "release-2.1");
  const animal = (await as(keys.pro).get("/v1/pets/1")).text;
  assert.equal(animal, '{"id":1,"name":"Rex","categoryId":1,"status":"available"}', "it was reserved, sold and freed");
  const repeated = await as(keys.business).change(1, "sold", { "if-match": "pending", "idempotency-key": "sale-1" });
  assert.deepEqual([repeated.status, repeated.headers["idempotent-replayed"]], [200, "true"]);
});

/** The secrets of 3.0. Of `enterprise`, the five requests of the minute are used up. */
const laterKeys = {
  business: "as_VSzUytanNrUtMy1zCnKKvGTAHxF0is8PpbuNRBOtzgq",
  enterprise: "as_1JAWR7xDvIPkNAhAb0DD3pT8ZnXCxy4amCeyx2KlN97",
  revoked: "as_6GNK6nagt68lENu4orWgQ9nAKynCBKrtJwnMs2EV5gI",
};

test("the data folder of release 3.0 is served, and each version is one more than the changes that it wrote", async (context) => {
  const { as, reports } = await servedFolder(context, "release-3.0");
  const client = as(laterKeys.business);
  const cat = '{"id":3,"name":"Ünal \u202e \\"the\\" cat","categoryId":-1,"status":"sold"}';
  const animals = [
    '{"id":1,"name":"Rex","categoryId":1,"status":"available"}', cat, '{"id":4,"name":"🐇","categoryId":7,"status":"pending"}',
  ];
  assert.deepEqual(await client.animalsAfter(0), animals);
  const tags = [];
  for (const id of [1, 2, 3, 4, 5]) {
    tags.push((await client.get(`/v1/pets/${id}`)).headers["etag"]);
  }
  assert.deepEqual(tags, ['"available-5"', undefined, '"sold-1"', '"pending-2"', undefined]);
  assert.equal((await client.get("/v1/pets?categoryId=7")).text, `[${animals[2]}]`);
  for (const [id, status, key, tag] of [
    [1, "sold", "sale-1", '"sold-3"'], [1, "sold", "sale-1-again", '"sold-4"'], [4, "pending", "kept", '"pending-2"'],
  ] as const) {
    const { status: code, headers } = await client.change(id, status, { "if-match": '"sold-1"', "idempotency-key": key });
    assert.deepEqual([code, headers["idempotent-replayed"], headers["etag"]], [200, "true", tag], key);
  }
  for (const [name, categoryId, status, key, id] of [
    ['Ünal \u202e "the" cat', -1, "sold", "order-1", 3], ['"categoryId":7', 1, "available", "order-2", 5],
  ] as const) {
    const { headers } = await client.add({ name, categoryId, status }, { "idempotency-key": key });
    assert.deepEqual([headers["location"], headers["etag"]], [`/v1/pets/${id}`, `"${status}-1"`]);
  }
  const removal = await client.send("DELETE", "/v1/pets/5", { headers: { "if-match": "*", "idempotency-key": "removal-1" } });
  assert.deepEqual([removal.status, removal.headers["idempotent-replayed"]], [204, "true"]);
  assert.equal((await client.add({ name: "of this release", categoryId: 1 })).headers["location"], "/v1/pets/6");
  const statuses = [];
  for (const key of [laterKeys.enterprise, laterKeys.revoked]) {
    statuses.push((await as(key).get("/v1/limits")).status);
  }
  assert.deepEqual([statuses, reports], [[429, 401], []]);
});

test("what release 3.0 wrote, done again, is the same bytes: it still starts where no animal was corrected", async (context) => {
  const whole = readFileSync(join(root, "test/release-3.0/pets.jsonl"), "utf8");
  const exported = whole.split("\n").slice(0, 3).map((line) => `${line}\n`).join("");
  const dataDir = temporaryFolder(context);
  writeFileSync(join(dataDir, "pets.jsonl"), exported);
  const clock = new ManualClock();
  const store = await openPetStore({ disk: nodeDisk, dataDir, clock, report: assert.fail });
  for (const text of whole.slice(exported.length).trimEnd().split("\n")) {
    const { id, name, categoryId, status, once, at } = JSON.parse(text) as PetLine;
    clock.stepWall((at ?? 0) * 1_000 - clock.wallMs());
    if (status === "removed") {
      await store.remove(id, always, once);
    } else if (name !== undefined) {
      await store.add({ name, categoryId: BigInt(categoryId), status }, once);
    } else {
      await store.change(id, { status }, always, once);
    }
  }
  await store.change(1, { status: "available" }, always);
  await store.change(4, { name: "🐇", categoryId: 7n, status: "pending" }, always);
  await store.close();
  assert.equal(readFileSync(join(dataDir, "pets.jsonl"), "utf8"), whole, "nor is a line written of what changes nothing");
});

/** A line of the fixture, in which no category is beyond what a number holds. */
interface PetLine {
  readonly id: number;
  /** Undefined on a line of a change, as is the category. */
  readonly name?: string;
  readonly categoryId: number;
  readonly status: PetStatus | "removed";
  readonly once?: string;
  readonly at?: number;
}

/** Serves a copy of the folder, a second after it was last saved. */
async function servedFolder(context: TestContext, release: string) {
  const written = join(root, "test", release);
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
