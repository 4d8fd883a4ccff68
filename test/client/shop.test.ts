/**
 * The shop of the manual, as it is printed: whatever happens to it at any of its steps, it sells an animal to one
 * customer, who pays once, and no animal stays reserved.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { AnimalStoreClient, type Pets } from "../../src/client/client.ts";
import { root } from "../support/root.ts";
import { runningService } from "../support/running-service.ts";

type Pay = (attempt: string) => Promise<boolean>;
type Buy = (id: number, attempt: string, pay: Pay) => Promise<string>;

const manual = readFileSync(join(root, "src/manual/clients.md"), "utf8");
const printed = /^async function buy\(.*?^\}$/ms.exec(manual)?.[0] ?? assert.fail("the manual has no shop");

/** The manual's function, over these animals. */
function shopOver(pets: Pick<Pets, "changeStatus">): Buy {
  return new Function("pets", `return ${printed}`)(pets) as Buy;
}

/** What charges the cards. A card that was not declined is charged once for an attempt. */
class Payments {
  readonly charged = new Map<string, boolean>();
  readonly #answers: Readonly<Record<string, "charged" | "declined">>;

  constructor(answers: Readonly<Record<string, "charged" | "declined">>) {
    this.#answers = answers;
  }

  readonly pay: Pay = async (attempt) => {
    const isCharged = this.charged.get(attempt) ?? this.#answers[attempt] === "charged";
    this.charged.set(attempt, isCharged);
    return isCharged;
  };

  get count(): number {
    return [...this.charged.values()].filter(Boolean).length;
  }
}

async function openShop(context: TestContext) {
  const { port, key } = await runningService(context);
  const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key });
  const { id } = await pets.add({ name: "Rex", categoryId: 1 });
  return { pets, id, buy: shopOver(pets) };
}

/** A step that never ends, as where the process dies before or after it. */
const crash = new Promise<never>(() => undefined);

/** The shop, and payments, that crash at one step. Resolves when they have. */
function crashing(pets: Pets, pay: Pay, crashAt: number): { readonly buy: Buy; readonly pay: Pay; readonly crashed: Promise<void> } {
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
  const dying = async <Value>(effect: () => Promise<Value>): Promise<Value> => {
    await step();
    const value = await effect();
    await step();
    return value;
  };
  const changeStatus: Pets["changeStatus"] = (...given) => dying(() => pets.changeStatus(...given));
  return { buy: shopOver({ changeStatus }), pay: (attempt) => dying(() => pay(attempt)), crashed: isCrashed };
}

test("a declined card releases the animal, another customer gets it, and the first one does not pay with another card", async (context) => {
  const { pets, id, buy } = await openShop(context);
  const payments = new Payments({ "17-1": "declined", "18-1": "charged", "17-2": "charged" });
  assert.equal(await buy(id, "17-1", payments.pay), "available");
  assert.equal(await buy(id, "18-1", payments.pay), "sold");
  assert.equal(await buy(id, "17-2", payments.pay), "too late: sold");
  // An attempt that is over is asked for again by mistake: nothing changes.
  assert.equal(await buy(id, "17-1", payments.pay), "available");
  assert.deepEqual([payments.count, (await pets.get(id)).status], [1, "sold"]);
});

test("if the bank does not say whether it has charged, the animal stays reserved until the attempt, made again, knows", async (context) => {
  const { pets, id, buy } = await openShop(context);
  for (const [answer, status] of [["declined", "available"], ["charged", "sold"]] as const) {
    const payments = new Payments({ [answer]: answer, other: "charged" });
    const silent = async (attempt: string): Promise<boolean> => {
      await payments.pay(attempt);
      throw new Error("no answer of the bank");
    };
    await assert.rejects(buy(id, answer, silent), { message: "no answer of the bank" });
    assert.equal(await buy(id, "other", payments.pay), "too late: pending");
    assert.equal(await buy(id, answer, payments.pay), status);
    assert.equal((await pets.get(id)).status, status);
  }
});

for (const [answer, status] of [["charged", "sold"], ["declined", "available"]] as const) {
  for (let crashAt = 0; crashAt < 6; crashAt++) {
    test(`a crash at step ${crashAt} of 6, the card is ${answer}: called again, the attempt ends as it would have`, async (context) => {
      const { pets, id, buy } = await openShop(context);
      const payments = new Payments({ "17-1": answer, "18-1": "charged" });
      const dying = crashing(pets, payments.pay, crashAt);
      void dying.buy(id, "17-1", dying.pay);
      await dying.crashed;
      const meanwhile = await buy(id, "18-1", payments.pay);
      const again = await buy(id, "17-1", payments.pay);
      // Either of the two may get it, but one of them does, and pays.
      const { status: now } = await pets.get(id);
      const isFirst = again === "sold";
      assert.equal([meanwhile, again].filter((result) => result === "sold").length, now === "sold" ? 1 : 0);
      assert.deepEqual([payments.charged.get("17-1") ?? false, payments.charged.get("18-1") ?? false], [isFirst, meanwhile === "sold"]);
      assert.notEqual(now, "pending");
      assert.ok(again === status || /^too late: sold$/.test(again), again);
    });
  }
}

test("of two buyers at once one gets the animal, and pays", async (context) => {
  for (let round = 0; round < 20; round++) {
    const { pets, id, buy } = await openShop(context);
    const payments = new Payments({ a: "charged", b: "charged" });
    const results = await Promise.all([buy(id, "a", payments.pay), buy(id, "b", payments.pay)]);
    assert.equal(results.filter((result) => result === "sold").length, 1, String(results));
    assert.match(results.find((result) => result !== "sold") ?? "", /^too late: (pending|sold)$/);
    assert.deepEqual([payments.count, (await pets.get(id)).status], [1, "sold"]);
  }
});

test("an attempt that is made twice at once is made once", async (context) => {
  const { pets, id, buy } = await openShop(context);
  const payments = new Payments({ a: "charged" });
  assert.deepEqual(await Promise.all([buy(id, "a", payments.pay), buy(id, "a", payments.pay)]), ["sold", "sold"]);
  assert.deepEqual([payments.count, (await pets.get(id)).status], [1, "sold"]);
});

test("an animal that was removed ends the attempt, and any other error of the service is the caller's", async (context) => {
  const { pets, buy } = await openShop(context);
  assert.equal(await buy(99, "a", async () => true), "too late: removed");
  await assert.rejects(buy(1, "é", async () => true), RangeError);
  assert.equal((await pets.get(1)).status, "available");
});
