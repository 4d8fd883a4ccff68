/**
 * Calls with one idempotency hash that overlap, over a store that knows nothing of hashes: it does each call that it
 * gets, a few turns later.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import {
  type ChangeOutcome, IdempotencyConflictError, OutcomeUnknownError, type PetStore, type StoredPet,
} from "../../src/pets/pet-store.ts";
import { type NewPet, type PetChange, petToJson, type PetStatus } from "../../src/pets/pet.ts";
import type { Preconditions } from "../../src/pets/precondition.ts";
import { shareOutcomes } from "../../src/pets/shared-outcomes.ts";
import { GatedStore } from "../support/gated-store.ts";
import { runningService } from "../support/running-service.ts";
import { always, ifMatch } from "../support/store-suites/suite-steps.ts";
import type { WireResponse } from "../support/wire-response.ts";
import { exchange, request, rex as content } from "../support/wire.ts";

const rex: NewPet = { name: "Rex", categoryId: 1n, status: "available" };

/** Its one animal has the status that `change` gives it. */
class ForgetfulStore extends GatedStore {
  failure: Error | undefined;
  callCount = 0;
  #status: PetStatus = "available";

  override async add(newPet: NewPet): Promise<StoredPet> {
    const id = ++this.callCount;
    await turn();
    if (this.failure !== undefined) {
      throw this.failure;
    }
    return { id, json: petToJson({ id, ...newPet }) };
  }

  override async change(id: number, { status = "sold" }: PetChange, { match }: Preconditions): Promise<ChangeOutcome> {
    this.callCount++;
    await turn();
    if (!match.includes(this.#status)) {
      return { kind: "mismatch", status: this.#status, version: this.callCount };
    }
    this.#status = status;
    return { kind: "changed", json: petToJson({ id, ...rex, status }), version: this.callCount };
  }
}

function sharing(): { readonly inner: ForgetfulStore; readonly store: PetStore } {
  const inner = new ForgetfulStore();
  return { inner, store: shareOutcomes(inner) };
}

const times = <Result>(count: number, run: () => Result): Result[] => Array.from({ length: count }, run);

test("64 adds with one hash at once are one add, and share its result; one of another animal is the store's to judge", async () => {
  const { inner, store } = sharing();
  const adding = times(64, () => store.add(rex, "a"));
  const other = store.add({ ...rex, name: "Misty" }, "a");
  const results = await Promise.all(adding);
  assert.deepEqual(new Set(results.map(({ id, json }) => `${id} ${json.toString()}`)).size, 1);
  assert.equal(results.filter(({ isReplay }) => isReplay !== true).length, 1);
  assert.deepEqual(await other.then(({ id, isReplay }) => [id, isReplay]), [2, undefined], "after the first has ended");
  assert.equal(inner.callCount, 2);
});

test("adds with several hashes, or with none, are one each", async () => {
  const { inner, store } = sharing();
  await Promise.all(["a", "b", undefined, undefined].map((hash) => store.add(rex, hash)));
  assert.equal(inner.callCount, 4);
});

test("64 changes with one hash at once are one change, and share its result; other requests are the store's to judge", async () => {
  const { inner, store } = sharing();
  const changing = times(64, () => store.change(1, { status: "pending" }, ifMatch("available"), "a"));
  const others = [
    store.change(1, { status: "pending", categoryId: 1n }, always, "a"),
    store.change(1, { status: "pending", categoryId: 2n }, always, "a"),
    store.change(1, { status: "sold" }, always, "a"), store.change(2, { status: "pending" }, always, "a"), store.add(rex, "a"),
  ];
  const outcomes = await Promise.all(changing);
  assert.equal(outcomes.filter((outcome) => outcome.kind === "changed" && outcome.isReplay !== true).length, 1);
  assert.ok(outcomes.every(({ kind }) => kind === "changed"));
  await Promise.all(others);
  assert.equal(inner.callCount, 1 + others.length);
});

test("changes with one hash at once are judged each by itself until one succeeds", async () => {
  const { store } = sharing();
  const froms: readonly (readonly PetStatus[])[] = [[], ["sold"], ["available"], ["sold"]];
  const outcomes = await Promise.all(froms.map((from) => store.change(1, { status: "pending" }, ifMatch(...from), "a")));
  assert.deepEqual(outcomes.map(({ kind }) => kind), ["mismatch", "mismatch", "changed", "changed"]);
});

test("all that wait for an add fail as it does, and the next one adds the animal", async () => {
  const { inner, store } = sharing();
  inner.failure = new OutcomeUnknownError("nobody knows");
  for (const outcome of await Promise.allSettled(times(3, () => store.add(rex, "a")))) {
    assert.ok(outcome.status === "rejected" && outcome.reason === inner.failure);
  }
  inner.failure = undefined;
  assert.deepEqual(await store.add(rex, "a").then(({ id, isReplay }) => [id, isReplay]), [2, undefined]);
});

test("with the Idempotency-Key of an add under way, a change of an id that was never given is 404, as it is later", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  const fields = ["Idempotency-Key: order-1"];
  const adding = exchange(port, request({ method: "POST", key, content, fields }));
  await store.added(1);
  const parts = { method: "PATCH", target: "/v1/pets/999", content: '{"status":"sold"}', fields: [...fields, "If-Match: *"] };
  const changing = exchange(port, request({ key, ...parts }));
  await exchange(port, request({ target: "/v1/pets", key })); // The change, which was sent before, is read before.
  store.open();
  assert.equal((await adding).status, 201);
  assert.equal((await changing).status, 404);
});

test("what waits for an add that conflicts is tried by itself", async () => {
  const { inner, store } = sharing();
  inner.failure = new IdempotencyConflictError("of an earlier process");
  const first = store.add({ ...rex, name: "Misty" }, "a");
  const second = store.add(rex, "a");
  await assert.rejects(first, IdempotencyConflictError);
  inner.failure = undefined;
  assert.equal((await second).isReplay, undefined);
});

test("creates with one Idempotency-Key at once are one add of the store, by HTTP and by the program", async (context) => {
  const store = new GatedStore();
  const { port, key, service } = await runningService(context, { options: { store } });
  const pet = { name: "Rex", categoryId: 1n } as const;
  const byProgram = times(8, () => service.pets.add(pet, { idempotencyKey: "order-1" }));
  const fields = ["Idempotency-Key: order-1"];
  const create = (): Promise<WireResponse> => exchange(port, request({ method: "POST", key, content, fields }));
  const byHttp = times(8, create);
  await store.added(2);
  for (const _ of [1, 2, 3]) {
    await exchange(port, request({ target: "/v1/pets", key })); // The creates, which were sent before, are read before.
  }
  store.open();
  assert.deepEqual(new Set((await Promise.all(byProgram)).map(({ id }) => id)), new Set([1]));
  const locations = (await Promise.all(byHttp)).map((response) => response.value("location"));
  assert.deepEqual(new Set(locations), new Set(["/v1/pets/2"]));
  assert.equal(store.addCount, 2);
});
