/**
 * A service with an embedder's own store: its operations, and what clients see when it fails.
 */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";

import { type AnimalStore, openAnimalStore, type PetStore, StorageUnavailableError } from "../../src/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { WireResponse } from "../support/wire-response.ts";
import { exchange, request, rex } from "../support/wire.ts";
import { ExampleEngine, ExampleStore } from "../../src/testing/example-store.ts";

const newPet = { name: "Rex", categoryId: 5n, status: "available" } as const;

interface Embedded {
  readonly service: AnimalStore;
  readonly dataDir: string;
  ask(target: string, parts?: { readonly method?: string; readonly content?: string }): Promise<WireResponse>;
}

async function embed(context: TestContext, store: PetStore): Promise<Embedded> {
  const dataDir = temporaryFolder(context);
  const service = await openAnimalStore({ dataDir, store, report: () => undefined });
  const server = createServer(service.handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(async () => {
    await service.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const { key } = await service.keys.create({ plan: "business" });
  const { port } = server.address() as AddressInfo; // An address that is no path: it listens on a port.
  return { service, dataDir, ask: (target, parts) => exchange(port, request({ target, key, ...parts })) };
}

function codeOf({ status, content }: WireResponse): readonly [number, string] {
  return [status, (JSON.parse(content) as { code: string }).code]; // An error, as the service sends it.
}

test("an embedder's own store serves create, fetch, list and paging", async (context) => {
  const { ask, dataDir } = await embed(context, new ExampleStore(new ExampleEngine()));
  assert.equal((await ask("/v1/pets")).content, "[]");
  const texts: string[] = [];
  for (const id of [1, 2, 3]) {
    const content = `{"name":"Rex ${id} 🐕","categoryId":9223372036854775807,"status":"sold"}`;
    const created = await ask("/v1/pets", { method: "POST", content });
    assert.deepEqual([created.status, created.value("location")], [201, `/v1/pets/${id}`]);
    assert.equal(created.content, `{"id":${id},${content.slice(1)}`);
    texts.push(created.content);
  }
  assert.equal((await ask("/v1/pets/2")).content, texts[1]);
  assert.deepEqual(codeOf(await ask("/v1/pets/4")), [404, "pet_not_found"]);
  const page = await ask("/v1/pets?limit=2&status=sold");
  assert.equal(page.content, `[${texts[0]},${texts[1]}]`);
  assert.equal(page.value("link"), '</v1/pets?limit=2&status=sold&after=2>; rel="next"');
  const last = await ask("/v1/pets?limit=2&status=sold&after=2");
  assert.deepEqual([last.content, last.value("link")], [`[${texts[2]}]`, undefined]);
  assert.ok(!(await readdir(dataDir)).includes("pets.jsonl"), "the folder holds keys and limits only");
});

test("two services share one engine: what one adds the other lists, and no id is given twice", async (context) => {
  const engine = new ExampleEngine();
  const [one, other] = [await embed(context, new ExampleStore(engine)), await embed(context, new ExampleStore(engine))];
  const adding = Array.from({ length: 20 }, (_, index) =>
    (index % 2 === 0 ? one : other).ask("/v1/pets", { method: "POST", content: rex }),
  );
  const locations = (await Promise.all(adding)).map((created) => created.value("location"));
  assert.equal(new Set(locations).size, 20);
  assert.equal((await one.ask("/v1/pets")).content, (await other.ask("/v1/pets")).content);
});

test("requests that need the store are 503 while it is unavailable, and succeed afterwards", async (context) => {
  const engine = new ExampleEngine();
  const { ask, service } = await embed(context, new ExampleStore(engine));
  assert.deepEqual([(await ask("/healthz")).status, service.healthy], [200, true]);
  engine.isDown = true;
  const unavailable = [503, "storage_unavailable"];
  assert.deepEqual(codeOf(await ask("/v1/pets", { method: "POST", content: rex })), unavailable);
  assert.deepEqual(codeOf(await ask("/v1/pets")), unavailable);
  assert.deepEqual(codeOf(await ask("/v1/pets/1")), unavailable);
  assert.deepEqual([(await ask("/healthz")).status, service.healthy], [503, false]);
  engine.isDown = false;
  const created = await ask("/v1/pets", { method: "POST", content: rex });
  assert.deepEqual([created.status, created.value("location")], [201, "/v1/pets/1"]);
  assert.equal((await ask("/healthz")).status, 200);
});

test("close() closes the store, once however often it is called", async (context) => {
  const store = new ExampleStore(new ExampleEngine());
  let closeCount = 0;
  const close = (): Promise<void> => {
    closeCount++;
    return store.close();
  };
  const { service } = await embed(context, { ...methodsOf(store), close });
  await Promise.all([service.close(), service.close()]);
  await service.close();
  assert.equal(closeCount, 1);
  assert.equal(store.isWritable(), false);
  await assert.rejects(store.add(newPet), StorageUnavailableError);
});

test("close() rejects if the store fails to close, and still frees the folder", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = new ExampleStore(new ExampleEngine());
  const failure = new Error("This is what a store says that cannot close");
  const service = await openAnimalStore({
    dataDir,
    store: { ...methodsOf(store), close: () => Promise.reject(failure) },
  });
  await assert.rejects(service.close(), failure);
  const next = await openAnimalStore({ dataDir, store });
  await next.close();
});

test("a store without one of the methods is refused when the service is opened", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = methodsOf(new ExampleStore(new ExampleEngine()));
  for (const name of ["add", "get", "list", "isWritable", "close"]) {
    await assert.rejects(openAnimalStore({ dataDir, store: { ...store, [name]: undefined } }), {
      name: "RangeError",
      message: `Cannot open animal store: store must have the method "${name}"`,
    });
  }
});

/** A store as an object of functions, which is as good as one of a class. */
function methodsOf(store: PetStore): PetStore {
  return {
    add: (given) => store.add(given),
    get: (id) => store.get(id),
    list: (query) => store.list(query),
    isWritable: () => store.isWritable(),
    close: () => store.close(),
  };
}
