/**
 * The shop of the manual, as it is printed: whatever happens to it at any of its steps, whatever the staff does meanwhile,
 * and however late it goes on, it sells an animal to one customer, who pays once, and nobody pays who gets none.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { AnimalStoreClient, type Pets } from "../../src/client/client.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { root } from "../support/root.ts";
import { runningService } from "../support/running-service.ts";

type Pay = (attempt: string) => Promise<boolean>;

/** What the shop has besides the animals: its own table, and the bank. */
interface Shop {
  readonly attempts: {
    get(attempt: string): unknown;
    set(attempt: string, reservation: unknown): unknown;
  };
  readonly pay: Pay;
  readonly refund: (attempt: string) => Promise<void>;
}

type Buy = (id: number, attempt: string, shop: Shop) => Promise<string>;

const manual = readFileSync(join(root, "src/manual/clients.md"), "utf8");
const printed = /^async function buy\(.*?^\}$/ms.exec(manual)?.[0] ?? assert.fail("the manual has no shop");

/** The manual's function, over these animals. */
function shopOver(pets: Pick<Pets, "changeStatus">): Buy {
  return new Function("pets", `return ${printed}`)(pets) as Buy;
}

/** The bank, and the shop's table. A card that was not declined is charged once for an attempt, and paid back once. */
class Books implements Shop {
  readonly attempts = new Map<string, unknown>();
  readonly charged = new Map<string, boolean>();
  readonly refunded = new Set<string>();
  readonly #answers: Readonly<Record<string, "charged" | "declined">>;

  constructor(answers: Readonly<Record<string, "charged" | "declined">>) {
    this.#answers = answers;
  }

  readonly pay: Pay = async (attempt) => {
    const isCharged = this.charged.get(attempt) ?? this.#answers[attempt] === "charged";
    this.charged.set(attempt, isCharged);
    return isCharged;
  };

  readonly refund = async (attempt: string): Promise<void> => {
    assert.equal(this.charged.get(attempt), true, "nobody gets back what was not paid");
    this.refunded.add(attempt);
  };

  /** The attempts whose customers have paid, and have not got it back. */
  get paid(): readonly string[] {
    return [...this.charged.keys()].filter((attempt) => this.charged.get(attempt) && !this.refunded.has(attempt));
  }
}

async function openShop(context: TestContext) {
  const clock = new ManualClock();
  const { port, key } = await runningService(context, { clock });
  const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key });
  const { id } = await pets.add({ name: "Rex", categoryId: 1 });
  return { clock, pets, id, buy: shopOver(pets) };
}

/** A step that never ends, as where the process dies before or after it. */
const crash = new Promise<never>(() => undefined);

/** The shop, and its books, that crash at one step. Resolves when they have. */
function crashing(pets: Pets, books: Books, crashAt: number) {
  let crashed = (): void => undefined;
  const isCrashed = new Promise<void>((resolve) => (crashed = resolve));
  let steps = 0;
  const step = async (): Promise<void> => {
    if (steps++ === crashAt) {
      crashed();
      await crash;
    }
  };
  /** It may crash before its effect, and behind it, before anybody hears of it. */
  const dying = async <Value>(effect: () => Value | Promise<Value>): Promise<Value> => {
    await step();
    const value = await effect();
    await step();
    return value;
  };
  const changeStatus: Pets["changeStatus"] = (...given) => dying(() => pets.changeStatus(...given));
  const shop: Shop = {
    attempts: {
      get: (attempt) => books.attempts.get(attempt),
      set: (...given) => dying(() => books.attempts.set(...given)),
    },
    pay: (attempt) => dying(() => books.pay(attempt)),
    refund: (attempt) => dying(() => books.refund(attempt)),
  };
  return { buy: shopOver({ changeStatus }), shop, crashed: isCrashed };
}

const dayMs = 86_400_000;

test("a declined card releases the animal, another customer gets it, and the first one does not pay with another card", async (context) => {
  const { pets, id, buy } = await openShop(context);
  const books = new Books({ "17-1": "declined", "18-1": "charged", "17-2": "charged" });
  assert.equal(await buy(id, "17-1", books), "available");
  assert.equal(await buy(id, "18-1", books), "sold");
  assert.equal(await buy(id, "17-2", books), "too late: sold");
  // An attempt that is over is asked for again by mistake: nothing changes.
  assert.equal(await buy(id, "17-1", books), "available");
  assert.deepEqual([books.paid, (await pets.get(id)).status], [["18-1"], "sold"]);
});

test("if the bank does not say whether it has charged, the animal stays reserved until the attempt, made again, knows", async (context) => {
  const { pets, id, buy } = await openShop(context);
  for (const [answer, status] of [["declined", "available"], ["charged", "sold"]] as const) {
    const books = new Books({ [answer]: answer, other: "charged" });
    const silent = async (attempt: string): Promise<boolean> => {
      await books.pay(attempt);
      throw new Error("no answer of the bank");
    };
    await assert.rejects(buy(id, answer, { ...books, pay: silent }), { message: "no answer of the bank" });
    assert.equal(await buy(id, "other", books), "too late: pending");
    assert.equal(await buy(id, answer, books), status);
    assert.equal((await pets.get(id)).status, status);
  }
});

for (const [answer, status] of [["charged", "sold"], ["declined", "available"]] as const) {
  for (let crashAt = 0; crashAt < 8; crashAt++) {
    test(`a crash at step ${crashAt} of 8, the card is ${answer}: called again, the attempt ends as it would have`, async (context) => {
      const { pets, id, buy } = await openShop(context);
      const books = new Books({ "17-1": answer, "18-1": "charged" });
      const dying = crashing(pets, books, crashAt);
      void dying.buy(id, "17-1", dying.shop);
      await dying.crashed;
      const meanwhile = await buy(id, "18-1", books);
      const again = await buy(id, "17-1", books);
      // Either of the two may get it, but one of them does, and pays.
      const { status: now } = await pets.get(id);
      const sold = [["17-1", again], ["18-1", meanwhile]].filter(([, result]) => result === "sold").map(([attempt]) => attempt);
      assert.equal(sold.length, now === "sold" ? 1 : 0);
      assert.deepEqual([books.paid, [...books.refunded]], [sold, []]);
      assert.notEqual(now, "pending");
      assert.ok(again === status || /^too late: sold$/.test(again), again);
    });

    test(`a crash at step ${crashAt} of 8, the card is ${answer}: called again two days later, nobody pays who gets none`, async (context) => {
      const { clock, pets, id, buy } = await openShop(context);
      const books = new Books({ "17-1": answer });
      const dying = crashing(pets, books, crashAt);
      void dying.buy(id, "17-1", dying.shop);
      await dying.crashed;
      clock.advance(2 * dayMs);
      const again = await buy(id, "17-1", books);
      const { status: now } = await pets.get(id);
      // A reservation of which the shop has no note is the staff's to release.
      const isForgotten = crashAt === 1 || crashAt === 2;
      const isDone = crashAt === 7 && answer === "declined";
      assert.equal(again, isForgotten ? "too late: pending" : isDone ? "too late: available" : status);
      assert.equal(now, isForgotten ? "pending" : status);
      assert.deepEqual([books.paid, [...books.refunded]], [now === "sold" ? ["17-1"] : [], []]);
    });
  }
}

for (const crashAt of [3, 4, 5, 6]) {
  for (const days of [0, 2]) {
    test(`a crash at step ${crashAt} of 8; the staff releases the animal, another buys it; ${days} days later the money is back`, async (context) => {
      const { clock, pets, id, buy } = await openShop(context);
      const books = new Books({ "17-1": "charged", "18-1": "charged" });
      const dying = crashing(pets, books, crashAt);
      void dying.buy(id, "17-1", dying.shop);
      await dying.crashed;
      await pets.changeStatus(id, "available", { from: "pending" });
      // The other one is about to pay, or has paid, when the first comes again.
      const reserved = crashing(pets, books, 4);
      void reserved.buy(id, "18-1", reserved.shop);
      await reserved.crashed;
      clock.advance(days * dayMs);
      assert.equal(await buy(id, "17-1", books), "too late: pending");
      assert.equal(await buy(id, "18-1", books), "sold");
      assert.equal(await buy(id, "17-1", books), "too late: sold");
      assert.deepEqual([books.paid, [...books.refunded]], [["18-1"], ["17-1"]]);
      assert.equal((await pets.get(id)).version, 5);
    });
  }
}

test("an animal that the staff removes or corrects while its customer pays: the money is back, and nothing is sold", async (context) => {
  for (const [happens, result] of [["removed", "too late: removed"], ["corrected", "too late: pending"]] as const) {
    const { pets, id, buy } = await openShop(context);
    const books = new Books({ "17-1": "charged" });
    const pay: Pay = async (attempt) => {
      await (happens === "removed" ? pets.remove(id, { from: "pending" }) : pets.change(id, { name: "Rexi" }, { from: "pending" }));
      return books.pay(attempt);
    };
    assert.equal(await buy(id, "17-1", { ...books, pay }), result);
    assert.deepEqual([books.paid, [...books.refunded]], [[], ["17-1"]]);
  }
});

test("of two buyers at once one gets the animal, and pays", async (context) => {
  for (let round = 0; round < 5; round++) {
    const { pets, id, buy } = await openShop(context);
    const books = new Books({ a: "charged", b: "charged" });
    const results = await Promise.all([buy(id, "a", books), buy(id, "b", books)]);
    assert.equal(results.filter((result) => result === "sold").length, 1, String(results));
    assert.match(results.find((result) => result !== "sold") ?? "", /^too late: (pending|sold)$/);
    assert.deepEqual([books.paid.length, (await pets.get(id)).status], [1, "sold"]);
  }
});

test("an attempt that is made twice at once is made once", async (context) => {
  const { pets, id, buy } = await openShop(context);
  const books = new Books({ a: "charged" });
  assert.deepEqual(await Promise.all([buy(id, "a", books), buy(id, "a", books)]), ["sold", "sold"]);
  assert.deepEqual([books.paid, (await pets.get(id)).status], [["a"], "sold"]);
});

test("where something in between hides the ETag, nobody pays", async (context) => {
  const { pets, id } = await openShop(context);
  const changeStatus: Pets["changeStatus"] = async (...given) => ({ ...(await pets.changeStatus(...given)), version: undefined });
  const books = new Books({ a: "charged" });
  await assert.rejects(shopOver({ changeStatus })(id, "a", books), /hides the ETag/);
  assert.deepEqual(books.charged, new Map());
});

test("an animal that was removed ends the attempt, and any other error of the service is the caller's", async (context) => {
  const { pets, buy } = await openShop(context);
  const books = new Books({ a: "charged", "é": "charged" });
  assert.equal(await buy(99, "a", books), "too late: removed");
  await assert.rejects(buy(1, "é", books), RangeError);
  assert.deepEqual(books.paid, []);
  assert.equal((await pets.get(1)).status, "available");
});
