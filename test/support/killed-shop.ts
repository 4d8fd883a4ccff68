/**
 * The service behind nginx, killed and started again while clients add animals, which must lose and double none. The
 * suites in plain JavaScript import this file as compiled.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { type Client, newClient } from "./client.ts";
import { freePort } from "./free-port.ts";
import { startNginx } from "./nginx.ts";
import { createKey, run, start } from "./program.ts";
import { root } from "./root.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { until } from "./until.ts";

export interface KilledShop {
  /** The address of the API, at nginx. */
  readonly url: string;
  /** An API key with a quota of `perMinute`. */
  readonly key: string;
  /** Resolves when the server has been killed and started again for the last time. */
  readonly killed: Promise<void>;
  /** Fails unless there are as many animals, of different names, and no key is banned. */
  check(animalCount: number): Promise<void>;
}

interface Shop {
  /** The server is killed each time that it has one of these numbers of animals. */
  readonly killsAt: readonly number[];
  readonly perMinute: number;
  /** Settings of the server. */
  readonly args?: readonly string[];
}

/** Starts the service, which is stopped when the test ends. */
export async function startKilledShop(context: TestContext, { killsAt, perMinute, args = [] }: Shop): Promise<KilledShop> {
  const data = ["--data", temporaryFolder(context)];
  const quotas = ["--plan", "enterprise", "--per-minute", String(perMinute), "--per-day", "100000"];
  const key = (await run(["keys", "create", ...data, ...quotas])).stdout.trim();
  const ownKey = await createKey(data);

  let server = await start(context, [...data, ...args]);
  const { origin } = server;
  const nginxPort = await freePort();
  const site = readFileSync(join(root, "src/manual/recipes/balancer.conf"), "utf8")
    .replace("listen 80;", `listen 127.0.0.1:${nginxPort};`)
    .replace("server animals:3000", `server ${new URL(origin).host}`);
  const nginx = await startNginx(temporaryFolder(context), site);
  context.after(() => nginx.stop("SIGQUIT"));

  const client: Client = newClient({ origin }, ownKey);
  context.after(() => client.close());
  const count = async (): Promise<number> => (await client.animalsAfter(0)).length;
  const killAll = async (): Promise<void> => {
    for (const animalCount of killsAt) {
      await until(`${animalCount} animals`, async () => (await count()) >= animalCount, { timeoutMs: 120_000 });
      await server.stop("SIGKILL");
      server = await start(context, [...data, ...args, "--port", new URL(origin).port]);
    }
  };
  return {
    url: `http://127.0.0.1:${nginxPort}/v1`,
    key,
    killed: killAll(),
    async check(animalCount) {
      const names = (await client.animalsAfter(0)).map((text) => JSON.parse(text).name);
      assert.deepEqual([names.length, new Set(names).size], [animalCount, animalCount]);
      const { stdout } = await run(["keys", "list", ...data, "--json"]);
      assert.doesNotMatch(stdout, /"banned"/);
    },
  };
}
