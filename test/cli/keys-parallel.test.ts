/**
 * Commands beside a running server, as operators and scripts run them, many at a time too.
 */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { ask, KeyFolder } from "../support/key-folder.ts";
import { createKey, run, start } from "../support/program.ts";
import { runHere } from "../support/terminal.ts";

async function statusOf(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/pets`, { headers: { Authorization: `Bearer ${key}` } })).status;
}

test("50 changes in a row are in effect at the next request", async (context) => {
  const folder = new KeyFolder(context);
  const { url, stop } = await start(context, ["--data", folder.path]);
  const at = ["--data", folder.path];
  for (let round = 0; round < 10; round++) {
    const made = await runHere(["keys", "create", "--plan=enterprise", "--per-minute=2", "--per-day=9", ...at]);
    const [key, id] = [made.stdout.trim(), /key_\w{15}/.exec(made.stderr)?.[0] ?? ""];
    assert.deepEqual([await statusOf(url, key), await statusOf(url, key), await statusOf(url, key)], [200, 200, 429]);
    await runHere(["keys", "reset", id, ...at]);
    assert.equal(await statusOf(url, key), 200);
    await runHere(["keys", "plan", id, "--plan=pro", ...at]);
    assert.equal(await statusOf(url, key), 200);
    const renewed = (await runHere(["keys", "rotate", id, ...at])).stdout.trim();
    assert.deepEqual([await statusOf(url, key), await statusOf(url, renewed)], [401, 200]);
    await runHere(["keys", "revoke", id, ...at]);
    assert.equal(await statusOf(url, renewed), 401);
  }
  assert.equal(await stop(), 0);
});

for (const place of ["beside a server", "alone"] as const) {
  test(`of five commands at once ${place} each makes its key, and nothing is left behind`, async (context) => {
    const folder = new KeyFolder(context);
    const data = join(folder.path, "data");
    const server = place === "alone" ? undefined : await start(context, ["--data", data]);
    const keys = await Promise.all(Array.from({ length: 5 }, () => createKey(["--data", data], "pro", {})));
    assert.equal(new Set(keys).size, 5);
    for (const key of keys) {
      assert.equal(server === undefined ? 200 : await statusOf(server.url, key), 200);
    }
    await server?.stop();
    const store = await folder.open({ dataDir: data });
    assert.ok(keys.every((key) => ask(store, key).startsWith("key_")));
    assert.deepEqual((await readdir(data)).filter((name) => name.includes("lock") || name.includes("new")), []);
  });
}

test("Keys changes that are asked for at once are all made, in the order of asking", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const { id } = await store.create();
  const plans = ["pro", "business", "free", "pro", "free", "business", "pro"] as const;
  await Promise.all(plans.map((plan) => store.plan(id, { plan })));
  const written = (await folder.lines()).slice(1).map((line) => /"plan":"(\w+)"/.exec(line)?.[1]);
  assert.deepEqual(written, plans);
});

test("of two commands at once that revoke a key one does it, and the other changes nothing", async (context) => {
  const folder = new KeyFolder(context);
  const { id } = await (await folder.open()).create();
  const ran = await Promise.all([1, 2].map(() => run(["keys", "revoke", id, "--data", folder.path])));
  assert.deepEqual(ran.map(({ stderr }) => stderr).sort(), [`${id} was revoked already\n`, `revoked ${id}\n`]);
  assert.equal((await folder.lines()).length, 2);
});
