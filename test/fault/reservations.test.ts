/**
 * Goal: who sells an animal by the tag of a reservation sells that reservation, or is refused: never one that somebody
 * else has made since. Method: clerks reserve the same few animals, correct, free and sell what they have reserved, by the
 * tag that they were given last, and try to sell by tags of reservations that they gave up. A step without a response is
 * sent again with its Idempotency-Key. In one test CLERKS are at once, in the other the server gets SIGKILL at random
 * moments and is started again. CRASH_ROUNDS sets how often.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Client, newClient, type Received } from "../support/client.ts";
import { createKey, run, start } from "../support/program.ts";
import { type SeededRandom, seeded } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const clerkCount = Number(process.env["CLERKS"] ?? 100);
const rounds = Number(process.env["CRASH_ROUNDS"] ?? 2);

/** What all clerks were told. */
class Shop {
  readonly #texts = new Map<string, string>();
  readonly #versions = new Map<number, number>();
  readonly #sellers = new Map<number, Clerk>();
  #firstId = 1;
  lastId = 0;
  staleCount = 0;
  #stepsLeft = 0;
  #onSteps = (): void => undefined;

  async stock(client: Client, count: number): Promise<void> {
    const added = await Promise.all(Array.from({ length: count }, () => client.add({ name: "Rex", categoryId: 1 })));
    this.#firstId = this.lastId + 1;
    this.lastId += count;
    added.forEach(({ headers, text }) => this.tell(Number(/\d+/.exec(text)), String(headers["etag"]), text));
  }

  /** Resolves once clerks have had so many responses. */
  steps(count: number): Promise<void> {
    this.#stepsLeft = count;
    return new Promise((resolve) => (this.#onSteps = resolve));
  }

  step(): void {
    this.#stepsLeft--;
    if (this.#stepsLeft === 0) {
      this.#onSteps();
    }
  }

  randomId(random: SeededRandom): number {
    return random.integer(this.#firstId, this.lastId);
  }

  /** Each change is told to its clerk once, in whatever order. */
  tell(id: number, tag: string, text: string): void {
    const known = `${id} ${tag}`;
    assert.equal(this.#texts.get(known), undefined, `the tag ${tag} of animal ${id} was given twice`);
    assert.match(text, new RegExp(`"status":"${/\w+/.exec(tag)}"\\}$`));
    this.#texts.set(known, text);
    this.#versions.set(id, (this.#versions.get(id) ?? 0) + 1);
  }

  sell(id: number, clerk: Clerk): void {
    assert.equal(this.#sellers.get(id), undefined, `animal ${id} was sold twice`);
    this.#sellers.set(id, clerk);
  }

  get soldCount(): number {
    return this.#sellers.size;
  }

  /** Every step has its response: each animal is what its last change made of it, and has a version for each change. */
  async check(client: Client, clerks: readonly Clerk[]): Promise<void> {
    const held = new Map(clerks.flatMap(({ held: one }) => (one === undefined ? [] : [[one.id, one.tag]])));
    for (let id = 1; id <= this.lastId; id++) {
      const { headers, text } = await client.get(`/v1/pets/${id}`);
      const tag = String(headers["etag"]);
      assert.equal(text, this.#texts.get(`${id} ${tag}`), `animal ${id}`);
      assert.equal(tag, `"${/"status":"(\w+)"\}$/.exec(text)?.[1]}-${this.#versions.get(id)}"`, `animal ${id}`);
      assert.equal(tag.startsWith('"sold-'), this.#sellers.has(id), `animal ${id} is ${tag}`);
      assert.equal(held.get(id), tag.startsWith('"pending-') ? tag : undefined, `animal ${id}`);
    }
  }
}

/** An animal, with the tag that it had when the clerk changed it last. */
interface Held {
  readonly id: number;
  readonly tag: string;
}

interface Step extends Held {
  readonly kind: "reserve" | "correct" | "free" | "sell" | "sell by a tag of before";
  readonly change: object;
  readonly key: string;
}

class Clerk {
  readonly #name: string;
  readonly #shop: Shop;
  readonly #random: SeededRandom;
  /** What has had no response yet. */
  #step: Step | undefined;
  /** What the clerk has reserved. */
  held: Held | undefined;
  /** What it has given up. */
  readonly #before: Held[] = [];
  #count = 0;

  constructor(name: string, shop: Shop, random: SeededRandom) {
    this.#name = name;
    this.#shop = shop;
    this.#random = random;
  }

  async work(client: Client, stepCount: number): Promise<void> {
    for (let step = 0; step < stepCount; step++) {
      this.#step ??= this.#nextStep();
      const response = await send(client, this.#step);
      this.#judge(this.#step, response);
      this.#step = undefined;
    }
  }

  /** Works until the server is gone. */
  async workUntilDeath(client: Client): Promise<void> {
    await this.work(client, Infinity).catch((error: unknown) => {
      if (error instanceof assert.AssertionError) {
        throw error;
      }
    });
  }

  get isWaiting(): boolean {
    return this.#step !== undefined;
  }

  #nextStep(): Step {
    const random = this.#random;
    const key = `${this.#name}-${++this.#count}`;
    const before = this.#before.length > 0 && random.oneIn(3) ? random.pick(this.#before) : undefined;
    if (before !== undefined) {
      return { ...before, kind: "sell by a tag of before", change: { status: "sold" }, key };
    }
    if (this.held === undefined) {
      return { kind: "reserve", id: this.#shop.randomId(random), tag: "available", change: { status: "pending" }, key };
    }
    return random.pick<Step>([
      { ...this.held, kind: "correct", change: { name: key, categoryId: this.#count }, key },
      { ...this.held, kind: "free", change: { status: "available" }, key },
      { ...this.held, kind: "free", change: { status: "available", name: key }, key },
      { ...this.held, kind: "sell", change: { status: "sold" }, key },
    ]);
  }

  #judge({ kind, id, tag }: Step, { status, headers, text }: Received): void {
    this.#shop.step();
    const mayBeRefused = kind === "reserve" || kind === "sell by a tag of before";
    const mustBeRefused = kind === "sell by a tag of before";
    const about = `${this.#name} wants to ${kind}, animal ${id}, ${tag}: ${text}`;
    assert.ok((status === 200 && !mustBeRefused) || (status === 412 && mayBeRefused), about);
    this.#shop.staleCount += mustBeRefused ? 1 : 0;
    if (status === 412) {
      return;
    }
    const now = { id, tag: String(headers["etag"]) };
    this.#shop.tell(id, now.tag, text);
    if (this.held !== undefined) {
      this.#before.push(this.held);
    }
    if (kind === "sell") {
      this.#shop.sell(id, this);
    }
    this.held = kind === "reserve" || kind === "correct" ? now : undefined;
  }
}

function send(client: Client, { id, tag, change, key }: Step): Promise<Received> {
  const content = JSON.stringify(change);
  const headers = { "content-type": "application/json", "content-length": content.length, "if-match": tag, "idempotency-key": key };
  return client.send("PATCH", `/v1/pets/${id}`, { headers, content });
}

test(`of ${clerkCount} clerks who reserve, free and sell 20 animals, each sells but its own reservations`, seeded(async (random, context) => {
  const data = ["--data", temporaryFolder(context)];
  const key = await createKey(data);
  const server = await start(context, data);
  const client = newClient(server, key, { connections: clerkCount });
  const shop = new Shop();
  await shop.stock(client, 20);
  const clerks = Array.from({ length: clerkCount }, (_, index) => new Clerk(`clerk-${index}`, shop, random));
  while (shop.soldCount < 10) {
    await Promise.all(clerks.map((clerk) => clerk.work(client, 5)));
  }
  await shop.check(client, clerks);
  assert.ok(shop.staleCount > 0, "steps by a tag of before");
  client.close();
  assert.equal(await server.stop(), 0);
}));

test(`after kill -9 under load, ${rounds} times, each reservation is its clerk's, and no tag is given twice`, seeded(async (random, context) => {
  const data = ["--data", temporaryFolder(context)];
  const key = await createKey(data);
  const shop = new Shop();
  const clerks = Array.from({ length: 32 }, (_, index) => new Clerk(`clerk-${index}`, shop, random));
  for (let round = 0; round < rounds; round++) {
    const server = await start(context, data);
    const client = newClient(server, key);
    await shop.stock(client, 25);
    const enough = shop.steps(random.integer(300, 1_500));
    const working = Promise.all(clerks.map((clerk) => clerk.workUntilDeath(client)));
    await Promise.race([enough, working]);
    await server.stop("SIGKILL");
    await working;
    client.close();
  }
  const server = await start(context, data);
  const client = newClient(server, key);
  const waiting = clerks.filter(({ isWaiting }) => isWaiting);
  assert.ok(waiting.length > 0, "the server was killed under load");
  await Promise.all(waiting.map((clerk) => clerk.work(client, 1)));
  await shop.check(client, clerks);
  assert.ok(shop.soldCount > 0 && shop.staleCount > 0, `${shop.soldCount} sold, ${shop.staleCount} stale`);
  client.close();
  assert.equal(await server.stop(), 0);
  assert.equal((await run(["check", ...data])).code, 0);
}));
