import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openAnimalStore } from "animal-store";
import express from "express";

test("content that another parser has read before is reported to Express, with what to do", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-eaten-"));
  const service = await openAnimalStore({ dataDir });
  const { key } = await service.keys.create({ plan: "free" });
  const app = express();
  app.use(express.json());
  app.use(service.handle);
  app.use((error, request, response, next) => response.status(500).send(error.message));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));

  const url = `http://127.0.0.1:${server.address().port}/v1/pets`;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" };
  const created = await fetch(url, { method: "POST", headers, body: '{"name":"Rex","categoryId":5}' });
  assert.equal(created.status, 500);
  assert.match(await created.text(), /another parser has read it/);
  const listed = await fetch(url, { headers });
  assert.deepEqual([listed.status, await listed.text()], [200, "[]"]);

  await new Promise((resolve) => server.close(resolve));
  await service.close();
  await rm(dataDir, { recursive: true });
});
