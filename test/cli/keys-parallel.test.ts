/**
 * Several processes change one key file at once, as commands beside a running server do.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { ask, KeyFolder } from "../support/key-folder.ts";

const processPath = fileURLToPath(new URL("keys-process.js", import.meta.url));
const rounds = 8;

/** The keys that another process made, and the ids that it named. */
async function makeKeysElsewhere(dataDir: string): Promise<{ keys: string[]; ids: string[] }> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [processPath, "create", "--data", dataDir], {
    env: { ...process.env, ROUNDS: String(rounds) },
  });
  return { keys: stdout.trimEnd().split("\n"), ids: stderr.match(/key_[0-9A-Za-z]{15}/g) ?? [] };
}

test("keys create in four processes beside a server that makes keys gives no id twice and tears no line", async (context) => {
  const folder = new KeyFolder(context);
  const server = await folder.open();
  const polling = setInterval(() => void server.follow(), 5);
  const own = Promise.all(Array.from({ length: rounds }, () => server.create()));
  const elsewhere = await Promise.all(Array.from({ length: 4 }, () => makeKeysElsewhere(folder.path)));
  const pairs = (await own).map(({ id, key }) => [id, key] as const);
  clearInterval(polling);
  for (const { keys, ids } of elsewhere) {
    pairs.push(...ids.map((id, index) => [id, keys[index] ?? ""] as const));
  }
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
