/**
 * The link from one page of a list to the next (RFC 8288).
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { runningService } from "../support/running-service.ts";
import { exchange, request, rex } from "../support/wire.ts";

test("the link to the next page has the same limit and status, and the last page has none", async (context) => {
  const { port, key } = await runningService(context);
  for (const status of ["sold", "pending", "sold", "sold", "pending"]) {
    const content = JSON.stringify({ name: "Rex", categoryId: 5, status });
    assert.equal((await exchange(port, request({ method: "POST", key, content }))).status, 201);
  }
  const table = [
    ["?limit=2", '</v1/pets?limit=2&after=2>; rel="next"'],
    ["?limit=2&after=2", '</v1/pets?limit=2&after=4>; rel="next"'],
    ["?limit=2&after=4", undefined],
    ["?status=sold&limit=2", '</v1/pets?limit=2&status=sold&after=3>; rel="next"'],
    ["?limit=2&status=sold&after=3", undefined],
    ["?limit=1&status=pending", '</v1/pets?limit=1&status=pending&after=2>; rel="next"'],
    ["?limit=5", undefined],
    ["", undefined],
  ] as const;
  for (const [query, link] of table) {
    assert.equal((await exchange(port, request({ key, target: `/v1/pets${query}` }))).value("link"), link, query);
  }
});

test("links begin with the base address and its path, if there is one", async (context) => {
  const baseUrl = "https://shop.example/store/v1";
  const { port, key } = await runningService(context, { options: { baseUrl } });
  const target = "/store/v1/pets";
  for (const id of [1, 2]) {
    const created = await exchange(port, request({ method: "POST", target, key, content: rex }));
    assert.deepEqual([created.status, created.value("location")], [201, `${baseUrl}/pets/${id}`]);
  }
  const link = (await exchange(port, request({ key, target: `${target}?limit=1` }))).value("link");
  assert.equal(link, `<${baseUrl}/pets?limit=1&after=1>; rel="next"`);
});
