/** One round of the published client, for any runtime that has fetch. */

import { AnimalStoreClient, AnimalStoreError, petToJson } from "animal-store/client";

const { env } = globalThis.process;

/** What breaks is sent again: the first request of each kind fails. */
const failed = new Set();
const { fetch } = globalThis;
globalThis.fetch = async (address, init) => {
  const isFirst = !failed.has(init.method);
  failed.add(init.method);
  return isFirst ? Promise.reject(new TypeError("broken")) : fetch(address, init);
};

function check(isTrue, what) {
  if (!isTrue) throw new Error(what);
}

const client = new AnimalStoreClient({ url: env.URL, key: env.KEY });
const { pets } = client;
const luna = await pets.add({ name: "Luna \u{1f415}", categoryId: 9223372036854775807n });
const { id } = luna;
check(luna.categoryId === 9223372036854775807n && luna.version === 1, "the category is exact, and the version can be read");
check((await pets.changeStatus(id, "pending", { from: luna })).status === "pending", "the status changes");
const late = await pets.changeStatus(id, "sold", { from: luna }).catch((error) => error);
check(late instanceof AnimalStoreError && late.code === "precondition_failed" && late.petStatus === "pending", String(late));
check(late.petVersion === 2 && (await pets.get(id)).version === 2, "the version of a 412 and of an animal that is fetched");
const corrected = await pets.change(id, { categoryId: -5 }, { from: "pending" });
check(petToJson(corrected) === `{"id":${id},"name":"Luna \u{1f415}","categoryId":-5,"status":"pending"}`, petToJson(corrected));
check((await pets.list({ categoryId: -5 })).pets.some((pet) => pet.id === id), "a list of a category");
const all = [];
for await (const pet of pets.all()) all.push(pet.name);
check(all.join() === "Luna \u{1f415}", "all animals");
check((await client.limits()).plan === "business", "the limits");
const stop = new AbortController();
const reason = new Error("stopped");
stop.abort(reason);
check((await pets.list({ signal: stop.signal }).catch((error) => error)) === reason, "the signal");
const { id: second, ...rex } = await pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: null });
check(petToJson(rex) === '{"name":"Rex","categoryId":1,"status":"available"}' && second === id + 1, "it goes into JSON");
check((await new AnimalStoreClient({ url: new URL(env.URL), key: env.KEY }).limits()).plan === "business", "the address may be a URL");
const isPage = globalThis.document !== undefined; // There an address may be relative.
for (const url of ["http://me:secret@h/v1", `${env.URL}?x=1`, `${env.URL}#x`, ...(isPage ? [] : ["h/v1"])]) {
  let error;
  try {
    new AnimalStoreClient({ url, key: env.KEY });
  } catch (reason) {
    error = reason;
  }
  check(error instanceof TypeError && !error.message.includes("secret"), `the address ${url}`);
}
globalThis.fetch = fetch;
if (env.TLS_URL !== undefined) { // A browser would only say of a certificate that something failed.
  const started = performance.now();
  const { message } = await new AnimalStoreClient({ url: env.TLS_URL, key: env.KEY }).limits().catch((error) => error);
  check(/self.signed|peer cert/.test(message) && performance.now() - started < 5_000, message);
}
console.log("done");
