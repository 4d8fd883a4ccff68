/**
 * Goal: no animal with a 201 response is lost, changed or doubled when the server is killed.
 * Method: 32 clients add animals to the real server, which gets SIGKILL at a random moment and is started again; this
 * process knows every 201. Rounds: 12, or the environment variable CRASH_ROUNDS, as in
 *
 *     npm run build && npx tsc -p test && CRASH_ROUNDS=1000 node --test build/test/fault/kill.test.js
 */

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { type SeededRandom, seeded } from "../support/seeded-random.ts";
import { Client, createKey, runCommand, startServer } from "./server-process.ts";

const rounds = Number(process.env["CRASH_ROUNDS"] ?? 12);
const clientCount = 32;

/** What the clients received. */
class Oracle {
  /** By id - 1. */
  readonly acknowledged: string[] = [];
  /** Names of animals whose request was cut off. */
  readonly unknown = new Set<string>();
  #count = 0;

  /** Adds one animal after the other until the server is gone. */
  async addUntilDeath(client: Client): Promise<void> {
    for (;;) {
      const name = `Rex ${++this.#count}`;
      this.unknown.add(name);
      try {
        const { status, body } = await client.ask("POST", "/v1/pets", JSON.stringify({ name, categoryId: this.#count }));
        assert.equal(status, 201, body);
        const { id } = JSON.parse(body) as { id: number }; // The server's own response.
        assert.equal(this.acknowledged[id - 1], undefined, `id ${id} was given twice`);
        this.acknowledged[id - 1] = body;
        this.unknown.delete(name);
      } catch (error) {
        if (error instanceof assert.AssertionError) {
          throw error;
        }
        return;
      }
    }
  }

  /** Compares what is there, and takes what turned out to have been stored for acknowledged. */
  compare(kept: readonly string[], after: number): void {
    const keptCount = after + kept.length;
    assert.ok(keptCount >= this.acknowledged.length, `${this.acknowledged.length} acknowledged, ${keptCount} kept`);
    for (const [place, text] of kept.entries()) {
      const index = after + place;
      const { id, name } = JSON.parse(text) as { id: number; name: string }; // The server's own response.
      assert.equal(id, index + 1);
      const expected = this.acknowledged[index];
      if (expected === undefined) {
        assert.ok(this.unknown.delete(name), `${text} was never added, or it is there twice`);
        this.acknowledged[index] = text;
      } else {
        assert.equal(text, expected);
      }
    }
  }
}

async function killRounds(dataDir: string, random: SeededRandom): Promise<Oracle> {
  const key = createKey(dataDir);
  const oracle = new Oracle();
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(dataDir);
    const client = new Client(server.port, key);
    // All of them only in the end: a thousand rounds would spend their time here.
    const after = Math.max(0, oracle.acknowledged.length - 2_000);
    oracle.compare(await client.animalsAfter(after), after);
    const adding = Array.from({ length: clientCount }, () => oracle.addUntilDeath(client));
    await delay(random.integer(0, 120));
    await server.kill("SIGKILL");
    await Promise.all(adding);
    client.close();
  }
  const server = await startServer(dataDir);
  const client = new Client(server.port, key);
  oracle.compare(await client.animalsAfter(0), 0);
  client.close();
  assert.equal(await server.kill("SIGTERM"), 0);
  return oracle;
}

test(`after kill -9 under load, ${rounds} times, every animal with a 201 response is there`, seeded(async (random) => {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-"));
  try {
    const { acknowledged } = await killRounds(dataDir, random);
    assert.ok(acknowledged.length > rounds, `only ${acknowledged.length} animals were ever added`);
    const { code, stdout } = runCommand(["check", "--data", dataDir]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, new RegExp(`is sound: ${acknowledged.length} animals`));
    const sockets = (await readdir(dataDir)).filter((name) => name.includes(".lock"));
    assert.deepEqual(sockets, [], "nothing is left to clean up by hand");
  } finally {
    await rm(dataDir, { recursive: true });
  }
}));
