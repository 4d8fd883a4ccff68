/** The catalogue as programs call it: by the client over HTTP, and by `service.pets` of the embedding program. */

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";

import { AnimalStoreClient, AnimalStoreError, type NewPet, type Pets } from "../../src/client/client.ts";
import { ExampleEngine, ExampleStore } from "../../src/testing/example-store.ts";
import { runningService } from "../support/running-service.ts";

const sources: Readonly<Record<string, (context: TestContext) => Promise<Pets>>> = {
  "the client": async (context) => {
    const { port, key } = await runningService(context);
    return new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1/`, key }).pets;
  },
  "service.pets": async (context) => (await runningService(context)).service.pets,
};

/** For `assert.rejects`. */
function animalStoreError(members: Partial<AnimalStoreError>): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof AnimalStoreError, String(error));
    assert.deepEqual({ ...members }, Object.fromEntries(Object.keys(members).map((name) => [name, error[name as "code"]])));
    return true;
  };
}

for (const [name, open] of Object.entries(sources)) {
  describe(name, () => {
    test("adds, gets, lists and changes animals, and ids are numbers, category ids bigints", async (context) => {
      const pets = await open(context);
      const rex = { id: 1, name: "Rex", categoryId: 7n, status: "available" };
      assert.deepEqual(await pets.add({ name: "Rex", categoryId: 7 }), rex);
      assert.deepEqual(await pets.add({ name: "Luna", categoryId: 8n, status: "sold" }), {
        ...{ id: 2, name: "Luna", categoryId: 8n, status: "sold" },
      });
      assert.deepEqual(await pets.get(1), rex);
      assert.deepEqual(await pets.list(), { pets: [rex, await pets.get(2)], nextAfter: undefined });
      assert.deepEqual(await pets.list({ status: "available" }), { pets: [rex], nextAfter: undefined });
      assert.deepEqual(await pets.changeStatus(1, "pending", { from: "available" }), { ...rex, status: "pending" });
      assert.deepEqual(await pets.changeStatus(1, "sold", { from: ["available", "pending"] }), { ...rex, status: "sold" });
      assert.equal((await pets.get(1)).status, "sold");
    });

    test("category ids and names are exact, whatever a name looks like", async (context) => {
      const pets = await open(context);
      const names = ['","categoryId":12,"', '"categoryId": 9223372036854775807}', "\\", '\\"categoryId":1,', "categoryId", "\u2028 🐕"];
      const ids = [2n ** 63n - 1n, -(2n ** 63n), 0n, 2n ** 53n + 1n, -5n, 1n];
      const added: NewPet[] = names.map((petName, index) => ({ name: petName, categoryId: ids[index] ?? 0n }));
      for (const [index, newPet] of added.entries()) {
        const pet = { id: index + 1, ...newPet, status: "available" };
        assert.deepEqual(await pets.add(newPet), pet);
        assert.deepEqual(await pets.get(index + 1), pet);
      }
      const { pets: listed } = await pets.list();
      assert.deepEqual(listed.map(({ name: petName, categoryId }) => ({ name: petName, categoryId })), added);
    });

    test("a category id that is a number must be a safe integer", async (context) => {
      const pets = await open(context);
      for (const categoryId of [2 ** 53, 1.5, Number.NaN, undefined as unknown as number]) {
        await assert.rejects(pets.add({ name: "Rex", categoryId }), categoryId === undefined ? TypeError : RangeError);
      }
      assert.deepEqual((await pets.list()).pets, []);
    });

    test("pages end with no nextAfter, and all() yields each animal once", async (context) => {
      const pets = await open(context);
      await Promise.all(Array.from({ length: 205 }, (_, index) => pets.add({ name: `Rex ${index}`, categoryId: index })));
      const first = await pets.list({ limit: 100, after: 5 });
      assert.deepEqual([first.pets.length, first.pets[0]?.id, first.nextAfter], [100, 6, 105]);
      assert.deepEqual(await pets.list({ limit: 100, after: 205 }), { pets: [], nextAfter: undefined });
      for (const [limit, after] of [[undefined, undefined], [7, 3]] as const) {
        const ids: number[] = [];
        for await (const { id } of pets.all({ limit, after })) {
          ids.push(id);
        }
        const from = (after ?? 0) + 1;
        assert.deepEqual(ids, Array.from({ length: 206 - from }, (_, index) => from + index));
      }
      await pets.changeStatus(100, "sold", { from: "available" });
      const sold = [];
      for await (const { id } of pets.all({ status: "sold" })) {
        sold.push(id);
      }
      assert.deepEqual(sold, [100]);
    });

    test("errors are told apart by their code", async (context) => {
      const pets = await open(context);
      await pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: "once" });
      const late = { code: "precondition_failed", status: 412, petStatus: "available" } as const;
      await assert.rejects(pets.changeStatus(1, "sold", { from: "pending" }), animalStoreError(late));
      for (const absent of [2, 0, -1, 1.5]) {
        const change = pets.changeStatus(absent, "sold", { from: "available" });
        await assert.rejects(change, animalStoreError({ code: "pet_not_found", status: 404, petStatus: undefined }));
      }
      await assert.rejects(pets.get(2), animalStoreError({ code: "pet_not_found", status: 404 }));
      const message = /name/;
      await assert.rejects(pets.add({ name: "", categoryId: 1 }), { code: "invalid_body", status: 400, message });
      await assert.rejects(pets.add({ name: undefined as unknown as string, categoryId: 1 }), { code: "invalid_body", message });
      const other = pets.add({ name: "Luna", categoryId: 1 }, { idempotencyKey: "once" });
      await assert.rejects(other, animalStoreError({ code: "idempotency_key_reused", status: 422 }));
      await assert.rejects(pets.list({ limit: 101 }), animalStoreError({ code: "invalid_parameter", status: 400 }));
      await assert.rejects(pets.changeStatus(1, "sold", { from: "lost" as "sold" }), { code: "precondition_failed" });
      await assert.rejects(pets.changeStatus(1, "lost" as "sold", { from: "sold" }), { code: "invalid_body" });
    });

    test("the same idempotency key adds and changes once, and each call has one of its own otherwise", async (context) => {
      const pets = await open(context);
      const rex = { name: "Rex", categoryId: 1 };
      const first = await pets.add(rex, { idempotencyKey: "order-1" });
      const reserved = await pets.changeStatus(1, "pending", { from: "available", idempotencyKey: "order-2" });
      await pets.changeStatus(1, "sold", { from: "pending" });
      assert.deepEqual(await pets.add(rex, { idempotencyKey: "order-1" }), first);
      assert.deepEqual(await pets.changeStatus(1, "pending", { from: "available", idempotencyKey: "order-2" }), reserved);
      assert.equal((await pets.add(rex)).id, 2);
      assert.equal((await pets.add(rex)).id, 3);
    });

    test("a signal that is aborted ends the call with its reason", async (context) => {
      const pets = await open(context);
      const reason = new Error("the customer left");
      const signal = AbortSignal.abort(reason);
      await assert.rejects(pets.add({ name: "Rex", categoryId: 1 }, { signal }), reason);
      await assert.rejects(pets.list({ signal }), reason);
      assert.deepEqual((await pets.list()).pets, []);
    });
  });
}

test("service.pets after close() cannot store, and says so by the code", async (context) => {
  const { service } = await runningService(context);
  await service.close();
  await assert.rejects(service.pets.add({ name: "Rex", categoryId: 1 }), animalStoreError({ code: "storage_unavailable", status: 503 }));
});

test("service.pets over a store of one's own: without changeStatus 405, and other errors as they are", async (context) => {
  const store = new ExampleStore(new ExampleEngine());
  const { add, get, list, isWritable, close } = store;
  const failure = new Error("the embedder's own");
  const own = {
    ...{ add: add.bind(store), get: get.bind(store), isWritable: isWritable.bind(store), close: close.bind(store) },
    list: (query: Parameters<typeof list>[0]) => (query.limit === 13 ? Promise.reject(failure) : list.call(store, query)),
  };
  const { service } = await runningService(context, { options: { store: own } });
  await service.pets.add({ name: "Rex", categoryId: 1 });
  const change = service.pets.changeStatus(1, "sold", { from: "available" });
  await assert.rejects(change, animalStoreError({ code: "method_not_allowed", status: 405 }));
  await assert.rejects(service.pets.list({ limit: 13 }), failure);
});

test("the program's idempotency keys are not those of API keys", async (context) => {
  const { service, port, key } = await runningService(context);
  const client = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key });
  await service.pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: "once" });
  assert.equal((await client.pets.add({ name: "Luna", categoryId: 1 }, { idempotencyKey: "once" })).id, 2);
});
