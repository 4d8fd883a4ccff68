/**
 * Goal: however often the server is killed, a client that sends each unanswered create again with its Idempotency-Key
 * has added each animal exactly once, and no animal with a 201 response is lost or changed.
 * Method: many clients add animals to the real server, which gets SIGKILL at a random moment and is started again. They
 * repeat creates without a response, and sometimes others. This process knows every 201. reservations.test.ts does the
 * same with changes. CRASH_ROUNDS sets the number of rounds, as in
 *
 *     npm run pretest && CRASH_ROUNDS=1000 node --test build/test/fault/kill.test.js
 */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { type Client, newClient } from "../support/client.ts";
import { createKey, run, start } from "../support/program.ts";
import { type SeededRandom, seeded } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rounds = Number(process.env["CRASH_ROUNDS"] ?? 2);
const clientCount = 32;

/** Knows what was sent, and what each response said. */
class Oracle {
  /** By id - 1. */
  readonly acknowledged: string[] = [];
  /** By name, which is the Idempotency-Key too. */
  readonly #textsByName = new Map<string, string>();
  /** Names of creates that have had no response yet: they are sent again first. */
  readonly unanswered: string[] = [];
  #count = 0;

  get sentCount(): number {
    return this.#count;
  }

  /** Adds one animal after the other until the server is gone. */
  async addUntilDeath(client: Client, random: SeededRandom): Promise<void> {
    for (;;) {
      const name = this.unanswered.pop() ?? (random.oneIn(20) ? this.#earlierName(random) : `Rex ${++this.#count}`);
      try {
        await this.add(client, name);
      } catch (error) {
        if (error instanceof assert.AssertionError) {
          throw error;
        }
        if (!this.#textsByName.has(name)) {
          this.unanswered.push(name);
        }
        return;
      }
    }
  }

  async add(client: Client, name: string): Promise<void> {
    const pet = { name, categoryId: Number(name.split(" ")[1]) };
    const { status, text } = await client.add(pet, { "idempotency-key": `"${name.replace(" ", "-")}"` });
    assert.equal(status, 201, text);
    const { id } = JSON.parse(text) as { id: number }; // The server's own response.
    assert.equal(this.acknowledged[id - 1] ?? text, text, `id ${id} was given twice`);
    assert.equal(this.#textsByName.get(name) ?? text, text, `${name} was added twice`);
    this.#acknowledge(id, name, text);
  }

  /** Compares what is there. Animals whose create had no response may be among them. */
  compare(kept: readonly string[], after: number): void {
    const keptCount = after + kept.length;
    assert.ok(keptCount >= this.acknowledged.length, `${this.acknowledged.length} acknowledged, ${keptCount} kept`);
    for (const [place, text] of kept.entries()) {
      const index = after + place;
      const { id, name } = JSON.parse(text) as { id: number; name: string }; // The server's own response.
      assert.equal(id, index + 1);
      assert.equal(text, this.acknowledged[index] ?? text);
      assert.equal(text, this.#textsByName.get(name) ?? text, `${name} is there twice`);
      this.#acknowledge(id, name, text);
    }
  }

  #acknowledge(id: number, name: string, text: string): void {
    this.acknowledged[id - 1] = text;
    this.#textsByName.set(name, text);
  }

  #earlierName(random: SeededRandom): string {
    return `Rex ${random.integer(1, Math.max(1, this.#count))}`;
  }
}

async function killRounds(context: TestContext, dataDir: string, random: SeededRandom): Promise<Oracle> {
  const key = await createKey(["--data", dataDir]);
  const oracle = new Oracle();
  for (let round = 0; round < rounds; round++) {
    const server = await start(context, ["--data", dataDir]);
    const client = newClient(server, key);
    // All of them only in the end: a thousand rounds would spend their time here.
    const after = Math.max(0, oracle.acknowledged.length - 2_000);
    oracle.compare(await client.animalsAfter(after), after);
    const adding = Array.from({ length: clientCount }, () => oracle.addUntilDeath(client, random));
    await delay(random.integer(0, 120));
    await server.stop("SIGKILL");
    await Promise.all(adding);
    client.close();
  }
  const server = await start(context, ["--data", dataDir]);
  const client = newClient(server, key);
  for (const name of oracle.unanswered) {
    await oracle.add(client, name);
  }
  oracle.compare(await client.animalsAfter(0), 0);
  client.close();
  assert.equal(await server.stop("SIGTERM"), 0);
  return oracle;
}

test(`after kill -9 under load, ${rounds} times, each Idempotency-Key has exactly one animal, the one of its 201`, seeded(async (random, context) => {
  const dataDir = temporaryFolder(context);
  const { acknowledged, sentCount } = await killRounds(context, dataDir, random);
  assert.ok(sentCount > rounds, `only ${sentCount} animals were ever added`);
  assert.equal(acknowledged.length, sentCount, "one animal for each key");
  const { code, stdout } = await run(["check", "--data", dataDir]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, new RegExp(`has ${acknowledged.length} animals`));
  const sockets = (await readdir(dataDir)).filter((name) => name.includes(".lock"));
  assert.deepEqual(sockets, [], "nothing is left to clean up by hand");
}));
