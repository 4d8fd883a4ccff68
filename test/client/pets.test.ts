/** The catalogue as programs call it: by the client over HTTP, and by `service.pets` of the embedding program. */

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";

import {
  AnimalStoreClient, AnimalStoreError, type ListOptions, type NewPet, type PetChange, type Pets, type PetState, petToJson,
} from "../../src/client/client.ts";
import type { PetStore } from "../../src/pets/pet-store.ts";
import { type NewPet as StoreNewPet, type PetChange as StorePetChange, petToJson as storedText } from "../../src/pets/pet.ts";
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
      const luna = { id: 2, name: "Luna", categoryId: 8, status: "sold" };
      assert.deepEqual(await pets.add({ name: "Rex", categoryId: 7 }), { ...rex, version: 1 });
      assert.deepEqual(await pets.add({ name: "Luna", categoryId: 8n, status: "sold" }), { ...luna, version: 1 });
      assert.deepEqual(await pets.get(1), { ...rex, version: 1 });
      assert.deepEqual(await pets.list(), { pets: [rex, luna], nextAfter: undefined });
      assert.deepEqual(await pets.list({ status: "available" }), { pets: [rex], nextAfter: undefined });
      const pending = await pets.changeStatus(1, "pending", { from: "available" });
      assert.deepEqual(pending, { ...rex, status: "pending", version: 2 });
      const sold = await pets.changeStatus(1, "sold", { from: ["available", "pending"] });
      assert.deepEqual(sold, { ...rex, status: "sold", version: 3 });
      assert.deepEqual(await pets.get(1), sold);
    });

    test("change() gives an animal other values, exactly, all or none", async (context) => {
      const pets = await open(context);
      const rex = await pets.add({ name: "Rex", categoryId: 7 });
      const table: readonly (readonly [PetChange, object])[] = [
        [{ name: "Rexi" }, { name: "Rexi" }],
        [{ categoryId: 2n ** 63n - 1n }, { name: "Rexi", categoryId: 2n ** 63n - 1n }],
        [{ categoryId: 2n ** 53n, status: "pending" }, { name: "Rexi", categoryId: 2n ** 53n, status: "pending" }],
        [{ name: undefined, categoryId: 5n }, { name: "Rexi", categoryId: 5, status: "pending" }],
        [{ name: "Rex", categoryId: 7, status: "available" }, {}],
      ];
      for (const [index, [change, members]] of table.entries()) {
        const changed = await pets.change(1, change, { from: ["available", "pending"] });
        assert.deepEqual(changed, { ...rex, ...members, version: index + 2 });
        assert.deepEqual(await pets.get(1), changed);
      }
      const from = "available";
      const wrongs: readonly (readonly [object, RegExp])[] = [
        [{}, /"status" is missing/],
        [{ name: "", status: "sold" }, /"name"/],
        [{ name: "Luna", colour: "red" }, /"colour" is not a property of PetChange/],
        [{ ...rex, name: "Luna" }, /"id" is not a property of PetChange; "version" is not/],
        [{ status: undefined }, /"status" is missing/],
        [{ name: null }, /"name" must be a string, received null/],
      ];
      for (const [change, message] of wrongs) {
        await assert.rejects(pets.change(1, change, { from }), { code: "invalid_body", status: 400, message });
      }
      for (const categoryId of [2 ** 53, "7", null, Number.NaN, 1.5]) {
        await assert.rejects(pets.change(1, { name: "Luna", categoryId: categoryId as number }, { from }), RangeError);
      }
      for (const wrong of ["sold", 7, true] as unknown as PetChange[]) {
        await assert.rejects(pets.change(1, wrong, { from }), RangeError);
      }
      assert.deepEqual(await pets.get(1), { ...rex, version: 6 });
    });

    test("by a version one changes or removes no other: a reservation is one's own", async (context) => {
      const pets = await open(context);
      const added = await pets.add({ name: "Rex", categoryId: 7 });
      const ofA = await pets.changeStatus(1, "pending", { from: added });
      await pets.changeStatus(1, "available", { from: "pending" }); // The shop releases it.
      const ofB = await pets.changeStatus(1, "pending", { from: "available" });
      const late = { code: "precondition_failed", status: 412, petStatus: "pending", petVersion: 4 } as const;
      await assert.rejects(pets.changeStatus(1, "sold", { from: ofA }), animalStoreError(late));
      await assert.rejects(pets.changeStatus(1, "pending", { from: ofA }), animalStoreError(late));
      await assert.rejects(pets.remove(1, { from: { status: "pending", version: 2 } }), animalStoreError(late));
      const kept = JSON.parse(JSON.stringify({ status: ofB.status, version: ofB.version })) as PetState;
      assert.equal((await pets.changeStatus(1, "sold", { from: kept })).version, 5);
      const fetched = await pets.get(1);
      await pets.remove(1, { from: fetched });
      await assert.rejects(pets.remove(1, { from: fetched }), { code: "pet_not_found" });
    });

    test("from may be an animal with its version, and only the one that is to change", async (context) => {
      const pets = await open(context);
      const rex = await pets.add({ name: "Rex", categoryId: 7 });
      const luna = await pets.add({ name: "Luna", categoryId: 7 });
      const { pets: [listed] } = await pets.list();
      const { version: _, ...unversioned } = rex;
      const wrongs: readonly (readonly [unknown, RegExp])[] = [
        [luna, /^from must be animal 1, or a status, received 2$/],
        [{ ...rex, id: "1" }, /^from must be animal 1, or a status, received "1"$/],
        [listed, /^from must have its version: get\(\) the animal, as list\(\) shows none, received undefined$/],
        [unversioned, /must have its version/],
        [{ ...rex, version: "1" }, /must have its version/],
        [{ ...rex, version: 0 }, /must have its version/],
        [{ ...rex, version: 1.5 }, /must have its version/],
        [{ ...rex, status: "lost" }, /^from must be available, pending, sold, several, or an animal with its version/],
        [{ version: 1 }, /^from must be available, pending, sold/],
        [[rex], /^from must be available, pending, sold/],
        ["available-1", /^from must be available, pending, sold/],
        [["available", ["sold"]], /^from must be available, pending, sold/],
      ];
      for (const [from, message] of wrongs) {
        await assert.rejects(pets.changeStatus(1, "sold", { from: from as "sold" }), { name: "RangeError", message });
        await assert.rejects(pets.remove(1, { from: from as "sold" }), { name: "RangeError", message });
      }
      assert.deepEqual(await pets.get(1), rex);
    });

    test("lists of a category are exact, alone and with a status, in pages and in all()", async (context) => {
      const pets = await open(context);
      const categories = [2n ** 63n - 1n, 2n ** 63n - 2n, 5, 2n ** 63n - 1n, -5, 2n ** 63n - 1n];
      for (const [index, categoryId] of categories.entries()) {
        await pets.add({ name: "Rex", categoryId, status: index === 3 ? "sold" : "available" });
      }
      const idsOf = async (options: ListOptions): Promise<readonly number[]> => {
        const ids: number[] = [];
        for await (const { id } of pets.all(options)) {
          ids.push(id);
        }
        return ids;
      };
      const table: readonly (readonly [ListOptions, readonly number[]])[] = [
        [{ categoryId: 2n ** 63n - 1n }, [1, 4, 6]],
        [{ categoryId: 2n ** 63n - 1n, limit: 1 }, [1, 4, 6]],
        [{ categoryId: 2n ** 63n - 1n, status: "available", limit: 1 }, [1, 6]],
        [{ categoryId: 2n ** 63n - 1n, after: 1 }, [4, 6]],
        [{ categoryId: 2n ** 63n - 2n }, [2]],
        [{ categoryId: 5 }, [3]],
        [{ categoryId: 5n }, [3]],
        [{ categoryId: -5 }, [5]],
        [{ categoryId: -0 }, []],
        [{ categoryId: undefined, status: "sold" }, [4]],
      ];
      for (const [options, ids] of table) {
        assert.deepEqual(await idsOf(options), ids);
      }
      assert.deepEqual((await pets.list({ categoryId: 2n ** 63n - 1n, limit: 2 })).nextAfter, 4);
      for (const wrong of [2 ** 53, "5", "", null, Number.NaN, 1.5, {}]) {
        await assert.rejects(pets.list({ categoryId: wrong as number }), RangeError);
      }
      await assert.rejects(pets.list({ categoryId: 2n ** 63n }), { code: "invalid_parameter" });
    });

    test("a category id is a number where that is exact, else a bigint, and names are exact, whatever they look like", async (context) => {
      const pets = await open(context);
      const names = ['","categoryId":12,"', '"categoryId": 9223372036854775807}', "\\", '\\"categoryId":1,', "categoryId", "\u2028 🐕"];
      const ids = [2n ** 63n - 1n, -(2n ** 63n), 0, 2n ** 53n, -(2n ** 53n) + 1n, 1n];
      const added: NewPet[] = names.map((petName, index) => ({ name: petName, categoryId: ids[index] ?? 0 }));
      const expected = [ids[0], ids[1], 0, ids[3], Number.MIN_SAFE_INTEGER, 1].map((categoryId, index) => {
        return { id: index + 1, name: names[index], categoryId, status: "available" };
      });
      const version = 1;
      for (const [index, newPet] of added.entries()) {
        assert.deepEqual(await pets.add(newPet), { ...expected[index], version });
        assert.deepEqual(await pets.get(index + 1), { ...expected[index], version });
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
        "list(categoryId)": (categoryId) => pets.list({ categoryId }),
        "list(limit)": (limit) => pets.list({ limit }),
        "list(after)": (after) => pets.list({ after }),
        "list(signal)": (signal) => pets.list({ signal }),
        "all(options)": (options) => pets.all(options).next(),
        "all(status)": (status) => pets.all({ status }).next(),
        "all(limit)": (limit) => pets.all({ limit }).next(),
        "all(after)": (after) => pets.all({ after }).next(),
        "all(signal)": (signal) => pets.all({ signal }).next(),
        "change(id)": (id) => pets.change(id, { status: "sold" }, { from }),
        "change(change)": (wrong) => pets.change(1, wrong, { from }),
        "change(name)": (wrong) => pets.change(1, { name: wrong }, { from }),
        "change(categoryId)": (categoryId) => pets.change(1, { categoryId }, { from }),
        "change(from)": (wrong) => pets.change(1, { status: "sold" }, { from: wrong }),
        "change(from's version)": (version) => pets.change(1, { status: "sold" }, { from: { status: from, version } }),
        "change(from's status)": (status) => pets.change(1, { status: "sold" }, { from: { status, version: 1 } }),
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
          const isRight = isNone || (/^(?!change|remove).*options/.test(call) && typeof wrong === "object");
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
      const late = { code: "precondition_failed", status: 412, petStatus: "available", petVersion: 1 } as const;
      await assert.rejects(pets.changeStatus(1, "sold", { from: "pending" }), animalStoreError(late));
      const change = pets.changeStatus(2, "sold", { from: "available" });
      await assert.rejects(change, animalStoreError({ code: "pet_not_found", status: 404, petStatus: undefined, petVersion: undefined }));
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
      assert.deepEqual(first, { id: 1, ...rex, status: "available", version: 1 });
      assert.deepEqual(reserved, { id: 1, ...rex, status: "pending", version: 2 });
      await pets.change(1, { name: "Rexi", status: "sold" }, { from: "pending" });
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
        "signal, status, categoryId, limit, after": pets.list(wrong),
        "signal, status, categoryId, limit, after,": pets.all(wrong).next(),
        "signal, from, idempotencyKey,": pets.change(1, { name: "Luna" }, { from: "available", ...wrong }),
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
      return { id, json: storedText({ ...newPet, id }) };
    },
    change: async (id: number, { status = "available" }: StorePetChange, _allowed: Preconditions, hash?: string) => {
      hashes.push(hash);
      return { kind: "changed", json: storedText({ id, name: "Rex", categoryId: 1n, status }), version: 2 } as const;
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
  await service.pets.add({ name: "Rex", categoryId: 7 });
  const { pets, nextAfter } = await service.pets.list({ limit: 1 });
  assert.deepEqual([pets.length, nextAfter], [1, undefined]);
});

test("a change with the key of one under way is its replay where that one has each of its values, and a conflict where not", async (context) => {
  const { service } = await runningService(context);
  const { pets } = service;
  await pets.add({ name: "Rex", categoryId: 7 });
  const options = { from: "available", idempotencyKey: "order-1" } as const;
  const first = pets.change(1, { name: "Rexi", status: "pending" }, options);
  const same = [{ status: "pending" }, { name: "Rexi" }, { categoryId: 7 }, { status: "pending", name: "Rexi" }] as const;
  const others = [{ status: "sold" }, { name: "Rex" }, { categoryId: 8, status: "pending" }] as const;
  const replays = same.map((change) => pets.change(1, change, options));
  const conflicts = Promise.allSettled(others.map((change) => pets.change(1, change, options)));
  const changed = await first;
  assert.deepEqual(changed, { id: 1, name: "Rexi", categoryId: 7, status: "pending", version: 2 });
  assert.deepEqual(await Promise.all(replays), same.map(() => ({ ...changed, isReplay: true })));
  for (const outcome of await conflicts) {
    assert.ok(outcome.status === "rejected");
    assert.equal((outcome.reason as AnimalStoreError).code, "idempotency_key_reused");
  }
  assert.deepEqual(await pets.get(1), changed);
});

test("petToJson() is the API's own text of an animal or several, without version and isReplay", async (context) => {
  const { service, port, key } = await runningService(context);
  const long = { name: 'Rex "\u2028\\', categoryId: 2n ** 63n - 1n };
  const pet = await service.pets.add(long, { idempotencyKey: "1" });
  const replay = await service.pets.add(long, { idempotencyKey: "1" });
  await service.pets.add({ name: "Luna", categoryId: -7 });
  const headers = { Authorization: `Bearer ${key}` };
  const [one, all] = await Promise.all(["/pets/1", "/pets"].map(async (path) => {
    return (await fetch(`http://127.0.0.1:${port}/v1${path}`, { headers })).text();
  }));
  const { pets } = await service.pets.list();
  assert.equal(replay.isReplay, true);
  assert.deepEqual([petToJson(pet), petToJson(replay), petToJson(pets[0]!), petToJson(pets)], [one, one, one, all]);
  assert.deepEqual([petToJson([]), petToJson([replay])], ["[]", `[${one}]`]);
  assert.throws(() => petToJson({ ...pet, categoryId: 2 ** 53 }), RangeError);
});
