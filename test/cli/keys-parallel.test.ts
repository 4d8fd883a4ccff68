/**
 * Several processes change one key file at once, as commands beside a running server do.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, KeyFolder } from "../support/key-folder.ts";
import { run } from "../support/program.ts";

const rounds = 4;

/** The keys that another process makes, one after the other, and the ids that it names. */
async function makeKeysElsewhere(dataDir: string): Promise<(readonly [id: string, key: string])[]> {
  const pairs: (readonly [string, string])[] = [];
  while (pairs.length < rounds) {
    const { stdout, stderr } = await run(["keys", "create", "--data", dataDir]);
    pairs.push([/key_[0-9A-Za-z]{15}/.exec(stderr)?.[0] ?? "", stdout.trimEnd()]);
  }
  return pairs;
}

test("keys create in four processes beside a server that makes keys gives no id twice and tears no line", async (context) => {
  const folder = new KeyFolder(context);
  const server = await folder.open();
  const polling = setInterval(() => void server.follow(), 5);
  const own = Promise.all(Array.from({ length: rounds }, () => server.create()));
  const elsewhere = await Promise.all(Array.from({ length: 4 }, () => makeKeysElsewhere(folder.path)));
  const pairs = [...elsewhere.flat(), ...(await own).map(({ id, key }) => [id, key] as const)];
  clearInterval(polling);
  assert.equal(pairs.length, 5 * rounds);
  assert.equal(new Set(pairs.map(([id]) => id)).size, 5 * rounds);
  await server.follow();
  for (const store of [server, await folder.open()]) {
    assert.deepEqual(pairs.map(([, key]) => ask(store, key)), pairs.map(([id]) => id));
  }
  assert.equal((await folder.lines()).length, 5 * rounds);
  assert.deepEqual(folder.reports, []);
});

test("KeyStore changes that are asked for at once are all made, in the order of asking", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create();
  const plans = ["pro", "business", "free", "pro", "free", "business", "pro"];
  await Promise.all(plans.map((plan) => store.plan(id, { plan })));
  const written = (await folder.lines()).slice(1).map((line) => /"plan":"(\w+)"/.exec(line)?.[1]);
  assert.deepEqual(written, plans);
});

test("KeyStore lets one of two processes revoke a key, and the other changes nothing", async (context) => {
  const folder = new KeyFolder(context);
  const [one, other] = [await folder.open(), await folder.openElsewhere()];
  const { id } = await one.create();
  await Promise.all([one.revoke(id), other.revoke(id), one.revoke(id), other.revoke(id)]);
  assert.equal((await folder.lines()).length, 2);
});
