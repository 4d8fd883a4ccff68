/** The catalogue as programs call it: by the client over HTTP, and by `service.pets` of the embedding program. */

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";

import { AnimalStoreClient, AnimalStoreError, type NewPet, type Pets } from "../../src/client/client.ts";
import type { PetStore } from "../../src/pets/pet-store.ts";
import { type NewPet as StoreNewPet, type PetChange, petToJson } from "../../src/pets/pet.ts";
import type { Preconditions } from "../../src/pets/precondition.ts";
import { GatedStore } from "../support/gated-store.ts";
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
    test("adds, gets, lists and changes animals, and ids and category ids are numbers", async (context) => {
      const pets = await open(context);
      const rex = { id: 1, name: "Rex", categoryId: 7, status: "available" };
      assert.deepEqual(await pets.add({ name: "Rex", categoryId: 7 }), rex);
      assert.deepEqual(await pets.add({ name: "Luna", categoryId: 8n, status: "sold" }), {
        ...{ id: 2, name: "Luna", categoryId: 8, status: "sold" },
      });
      assert.deepEqual(await pets.get(1), rex);
      assert.deepEqual(await pets.list(), { pets: [rex, await pets.get(2)], nextAfter: undefined });
      assert.deepEqual(await pets.list({ status: "available" }), { pets: [rex], nextAfter: undefined });
      assert.deepEqual(await pets.changeStatus(1, "pending", { from: "available" }), { ...rex, status: "pending" });
      assert.deepEqual(await pets.changeStatus(1, "sold", { from: ["available", "pending"] }), { ...rex, status: "sold" });
      assert.equal((await pets.get(1)).status, "sold");
    });

    test("a category id is a number where that is exact, else a bigint, and names are exact, whatever they look like", async (context) => {
      const pets = await open(context);
      const names = ['","categoryId":12,"', '"categoryId": 9223372036854775807}', "\\", '\\"categoryId":1,', "categoryId", "\u2028 🐕"];
      const ids = [2n ** 63n - 1n, -(2n ** 63n), 0, 2n ** 53n, -(2n ** 53n) + 1n, 1n];
      const added: NewPet[] = names.map((petName, index) => ({ name: petName, categoryId: ids[index] ?? 0 }));
      const expected = [ids[0], ids[1], 0, ids[3], Number.MIN_SAFE_INTEGER, 1].map((categoryId, index) => {
        return { id: index + 1, name: names[index], categoryId, status: "available" };
      });
      for (const [index, newPet] of added.entries()) {
        assert.deepEqual(await pets.add(newPet), expected[index]);
        assert.deepEqual(await pets.get(index + 1), expected[index]);
      }
      const { pets: listed } = await pets.list();
      assert.deepEqual(listed, expected);
      assert.equal(JSON.stringify(listed.slice(2, 3)), JSON.stringify(expected.slice(2, 3)));
      const json = JSON.stringify(listed, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
      assert.match(json, /"categoryId":"9223372036854775807"/);
    });

    test("a category id that is neither a safe integer nor a bigint is a RangeError that says what was received", async (context) => {
      const pets = await open(context);
      for (const wrong of ["", " ", null, true, [], "5", 1.5, 2 ** 53, Number.NaN, undefined, {}, new Date(5), Symbol("5")]) {
        const shown = typeof wrong === "string" ? JSON.stringify(wrong) : Object(wrong) === wrong ? "an object" : String(wrong);
        const message = `categoryId must be a safe integer or a bigint, received ${shown}`;
        await assert.rejects(pets.add({ name: "Rex", categoryId: wrong as number }), { name: "RangeError", message });
      }
      assert.deepEqual((await pets.list()).pets, []);
    });

    test("remove() resolves to nothing, once however often it is called with its key, and the animal is gone", async (context) => {
      const pets = await open(context);
      await pets.add({ name: "Naem", categoryId: 7 });
      await assert.rejects(pets.remove(1, { from: "sold" }), animalStoreError({ code: "precondition_failed", status: 412, petStatus: "available" }));
      for (let time = 0; time < 2; time += 1) {
        assert.equal(await pets.remove(1, { from: ["available", "sold"], idempotencyKey: "mistake" }), undefined);
      }
      await assert.rejects(pets.remove(1, { from: "available" }), { code: "pet_not_found" });
      assert.deepEqual((await pets.list()).pets, []);
    });

    test("a member that the service does not know goes along, and the service names it", async (context) => {
      const pets = await open(context);
      for (const [member, value] of Object.entries({ colour: "red", id: 7, tags: ["a"], weight: 2n ** 60n, 'a"b': null })) {
        const message = `The body is not a valid NewPet: ${JSON.stringify(member)} is not a property of NewPet.`;
        await assert.rejects(pets.add({ name: "Rex", categoryId: 7, [member]: value }), { code: "invalid_body", message });
      }
      assert.equal((await pets.add({ name: "Rex", categoryId: 7, status: undefined })).status, "available");
    });

    test("no argument is taken for another one: null is none where one may be left out, and all else is refused", async (context) => {
      const pets = await open(context);
      const rex = { name: "Rex", categoryId: 1 };
      await pets.add(rex);
      const from = "available";
      const calls: Readonly<Record<string, (wrong: never) => Promise<unknown>>> = {
        "add(animal)": (wrong) => pets.add(wrong),
        "add(name)": (name) => pets.add({ ...rex, name }),
        "add(categoryId)": (categoryId) => pets.add({ ...rex, categoryId }),
        "add(status)": (status) => pets.add({ ...rex, status }),
        "add(options)": (options) => pets.add(rex, options),
        "add(idempotencyKey)": (idempotencyKey) => pets.add(rex, { idempotencyKey }),
        "add(signal)": (signal) => pets.add(rex, { signal }),
        "get(id)": (id) => pets.get(id),
        "get(options)": (options) => pets.get(1, options),
        "get(signal)": (signal) => pets.get(1, { signal }),
        "list(options)": (options) => pets.list(options),
        "list(status)": (status) => pets.list({ status }),
        "list(limit)": (limit) => pets.list({ limit }),
        "list(after)": (after) => pets.list({ after }),
        "list(signal)": (signal) => pets.list({ signal }),
        "all(options)": (options) => pets.all(options).next(),
        "all(status)": (status) => pets.all({ status }).next(),
        "all(limit)": (limit) => pets.all({ limit }).next(),
        "all(after)": (after) => pets.all({ after }).next(),
        "all(signal)": (signal) => pets.all({ signal }).next(),
        "changeStatus(id)": (id) => pets.changeStatus(id, "sold", { from }),
        "changeStatus(status)": (status) => pets.changeStatus(1, status, { from }),
        "changeStatus(options)": (options) => pets.changeStatus(1, "sold", options),
        "changeStatus(from)": (wrong) => pets.changeStatus(1, "sold", { from: wrong }),
        "changeStatus(from several)": (wrong) => pets.changeStatus(1, "sold", { from: [from, wrong] }),
        "changeStatus(idempotencyKey)": (idempotencyKey) => pets.changeStatus(1, from, { from, idempotencyKey }),
        "changeStatus(signal)": (signal) => pets.changeStatus(1, from, { from, signal }),
        "remove(id)": (id) => pets.remove(id, { from }),
        "remove(options)": (options) => pets.remove(1, options),
        "remove(from)": (wrong) => pets.remove(1, { from: wrong }),
      };
      let added = 1;
      for (const [call, run] of Object.entries(calls)) {
        for (const wrong of [null, "", Number.NaN, {}, 17.5]) {
          const isNone = wrong === null && /options|idempotencyKey|signal/.test(call) && !/^(changeStatus|remove)\(options\)/.test(call);
          const isRight = isNone || (/^(?!changeStatus|remove).*options/.test(call) && typeof wrong === "object");
          const shown = `${call}: ${typeof wrong === "string" ? JSON.stringify(wrong) : String(wrong)}`;
          const error: unknown = await run(wrong as never).then(() => undefined, (reason: unknown) => reason);
          added += call.startsWith("add") && error === undefined ? 1 : 0;
          if (isRight) {
            assert.equal(error, undefined, shown);
          } else {
            const isBefore = error instanceof RangeError || (error instanceof TypeError && call.includes("signal"));
            assert.ok(isBefore || (error instanceof AnimalStoreError && error.status === 400), `${shown}: ${String(error)}`);
            assert.match(error.message, /(\S+ ){3}/, shown);
          }
        }
      }
      const { pets: all } = await pets.list();
      assert.deepEqual([all.length, all[0]?.status], [added, "available"]);
      for (const wrong of [undefined, [], "*", "lost", 'a"b', ["available", "AVAILABLE"]]) {
        await assert.rejects(pets.changeStatus(1, "sold", { from: wrong as "sold" }), RangeError);
      }
      await assert.rejects((pets.changeStatus as (...some: unknown[]) => Promise<unknown>).call(pets, 1, "sold"), RangeError);
      for (const wrong of [0, -1, 1.5, "1", 2 ** 53]) {
        const message = `id must be an integer from 1 to 2^53 - 1, as a number, received ${JSON.stringify(wrong)}`;
        await assert.rejects(pets.get(wrong as number), { name: "RangeError", message });
        await assert.rejects(pets.changeStatus(wrong as number, "sold", { from }), { name: "RangeError", message });
      }
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
      const change = pets.changeStatus(2, "sold", { from: "available" });
      await assert.rejects(change, animalStoreError({ code: "pet_not_found", status: 404, petStatus: undefined }));
      await assert.rejects(pets.get(2), animalStoreError({ code: "pet_not_found", status: 404 }));
      const message = /name/;
      await assert.rejects(pets.add({ name: "", categoryId: 1 }), { code: "invalid_body", status: 400, message });
      await assert.rejects(pets.add({ name: undefined as unknown as string, categoryId: 1 }), { code: "invalid_body", message });
      const other = pets.add({ name: "Luna", categoryId: 1 }, { idempotencyKey: "once" });
      await assert.rejects(other, animalStoreError({ code: "idempotency_key_reused", status: 422 }));
      await assert.rejects(pets.list({ limit: 101 }), animalStoreError({ code: "invalid_parameter", status: 400 }));
      await assert.rejects(pets.changeStatus(1, "lost" as "sold", { from: "sold" }), { code: "invalid_body" });
    });

    test("the same idempotency key adds and changes once, and each call has one of its own otherwise", async (context) => {
      const pets = await open(context);
      const rex = { name: "Rex", categoryId: 1 };
      const first = await pets.add(rex, { idempotencyKey: "order-1" });
      const reserved = await pets.changeStatus(1, "pending", { from: "available", idempotencyKey: "order-2" });
      assert.deepEqual([first, reserved], [{ id: 1, ...rex, status: "available" }, { id: 1, ...rex, status: "pending" }]);
      await pets.changeStatus(1, "sold", { from: "pending" });
      assert.deepEqual(await pets.add(rex, { idempotencyKey: "order-1" }), { ...first, isReplay: true });
      const again = await pets.changeStatus(1, "pending", { from: "available", idempotencyKey: "order-2" });
      assert.deepEqual(again, { ...reserved, isReplay: true });
      for (const [index, options] of [undefined, undefined, { idempotencyKey: null }, { idempotencyKey: null }].entries()) {
        assert.equal((await pets.add(rex, options)).id, index + 2);
      }
    });

    test("options that are not known are refused before anything is sent", async (context) => {
      const pets = await open(context);
      const rex = { name: "Rex", categoryId: 1 };
      const wrong = { idempotencykey: "1" } as object;
      const calls: Readonly<Record<string, Promise<unknown>>> = {
        "signal, idempotencyKey": pets.add(rex, wrong),
        signal: pets.get(1, wrong),
        "signal, status, limit, after": pets.list(wrong),
        "signal, status, limit, after,": pets.all(wrong).next(),
        "signal, from, idempotencyKey": pets.changeStatus(1, "sold", { from: "available", ...wrong }),
      };
      for (const [names, call] of Object.entries(calls)) {
        const message = new RegExp(`^an option must be one of ${names.replace(/,$/, "")}, received "idempotencykey"$`);
        await assert.rejects(call, { name: "RangeError", message });
      }
      assert.deepEqual((await pets.list()).pets, []);
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

test("service.pets ends a call with its signal although the store goes on", async (context) => {
  const never = new Promise<never>(() => undefined);
  const store = Object.assign(new GatedStore(), { add: () => never, list: () => never });
  const { service } = await runningService(context, { options: { store } });
  const reason = new Error("the customer left");
  for (const call of [
    (signal: AbortSignal) => service.pets.list({ signal }),
    (signal: AbortSignal) => service.pets.add({ name: "Rex", categoryId: 1 }, { signal }),
  ]) {
    const controller = new AbortController();
    setImmediate(() => controller.abort(reason));
    await assert.rejects(call(controller.signal), reason);
  }
});

test("service.pets carries an idempotency key only where its caller gives one", async (context) => {
  const hashes: unknown[] = [];
  const store: PetStore = Object.assign(new GatedStore(), {
    add: async (newPet: StoreNewPet, hash?: string) => {
      const id = hashes.push(hash);
      return { id, json: petToJson({ ...newPet, id }) };
    },
    change: async (id: number, { status = "available" }: PetChange, _allowed: Preconditions, hash?: string) => {
      hashes.push(hash);
      return { kind: "changed", json: petToJson({ id, name: "Rex", categoryId: 1n, status }), version: 2 } as const;
    },
  });
  const { service } = await runningService(context, { options: { store } });
  for (const options of [{}, { idempotencyKey: null }, { idempotencyKey: undefined }]) {
    const { id } = await service.pets.add({ name: "Rex", categoryId: 1 }, options);
    await service.pets.changeStatus(id, "sold", { from: "available", ...options });
  }
  assert.deepEqual(hashes, Array.from({ length: 6 }, () => undefined));
  await service.pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: "1" });
  await service.pets.changeStatus(4, "sold", { from: "available", idempotencyKey: "2" });
  assert.ok(hashes.length === 8 && hashes.slice(6).every((hash) => typeof hash === "string"));
});

test("service.pets after close() cannot store, and says so by the code", async (context) => {
  const { service } = await runningService(context);
  await service.close();
  await assert.rejects(service.pets.add({ name: "Rex", categoryId: 1 }), animalStoreError({ code: "storage_unavailable", status: 503 }));
});

test("the program's idempotency keys are not those of API keys", async (context) => {
  const { service, port, key } = await runningService(context);
  const client = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key });
  await service.pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: "once" });
  assert.equal((await client.pets.add({ name: "Luna", categoryId: 1 }, { idempotencyKey: "once" })).id, 2);
});

test("a full last page of service.pets has no nextAfter: nothing in between can have hidden its Link", async (context) => {
  const { service } = await runningService(context);
  const rex = await service.pets.add({ name: "Rex", categoryId: 7 });
  assert.deepEqual(await service.pets.list({ limit: 1 }), { pets: [rex], nextAfter: undefined });
});
