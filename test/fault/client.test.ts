/**
 * Goal: a program that uses the client adds each animal once and loses none, without any code of its own for that,
 * however often the server is killed and started again.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AnimalStoreClient } from "../../src/client/client.ts";
import { createKey, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const animalCount = 200;
const killsAt = [40, 90, 150];

test("200 adds through a server that is killed three times: exactly 200 animals", async (context) => {
  const dataDir = temporaryFolder(context);
  const key = await createKey(["--data", dataDir]);
  let server = await start(context, ["--data", dataDir]);
  const { port } = new URL(server.origin);
  const { pets } = new AnimalStoreClient({ url: server.url, key });

  const queue = Array.from({ length: animalCount }, (_, index) => index);
  let addedCount = 0;
  let restarting: Promise<void> | undefined;
  const killAndStart = async (): Promise<void> => {
    await server.stop("SIGKILL");
    server = await start(context, ["--data", dataDir, "--port", port]);
  };
  const worker = async (): Promise<void> => {
    for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
      await pets.add({ name: `Rex ${index}`, categoryId: index });
      addedCount++;
      if (killsAt.includes(addedCount)) {
        restarting = killAndStart();
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  await restarting;

  const names: string[] = [];
  for await (const { name } of pets.all()) {
    names.push(name);
  }
  const expected = Array.from({ length: animalCount }, (_, index) => `Rex ${index}`);
  assert.deepEqual(names.sort(), expected.sort());
});
