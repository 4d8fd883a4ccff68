/**
 * A client of openapi-typescript and openapi-fetch, as its developer would write it.
 */

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "../generated/openapi-typescript/schema.js";

type Pet = components["schemas"]["Pet"];

export async function round(baseUrl: string, apiKey: string): Promise<void> {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } });
  const created: Pet[] = [];
  for (const name of ["Ada", "Bella", "Cleo"]) {
    const { data, response } = await client.POST("/pets", { body: { name, categoryId: 5 } });
    assert.equal(response.status, 201);
    assert.ok(data);
    created.push(data);
  }
  // @ts-expect-error: categoryId is missing.
  const incomplete = await client.POST("/pets", { body: { name: "Rex" } });
  assert.ok(incomplete.error?.code === "invalid_body" && incomplete.error.status === 400);

  const listed = await client.GET("/pets", { params: { query: { status: "available", limit: 100 } } });
  assert.deepEqual(listed.data, created);

  const paged: Pet[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const query = { limit: 2, after };
    const page: { data?: Pet[]; response: Response } = await client.GET("/pets", { params: { query } });
    paged.push(...(page.data ?? []));
    after = /after=(\d+)/.test(page.response.headers.get("Link") ?? "") ? paged.at(-1)?.id : undefined;
  }
  assert.deepEqual(paged, created);

  const [first] = created;
  assert.ok(first);
  const one = await client.GET("/pets/{petId}", { params: { path: { petId: first.id } } });
  assert.deepEqual(one.data, first);
  const none = await client.GET("/pets/{petId}", { params: { path: { petId: 999_999 } } });
  assert.ok(none.error?.code === "pet_not_found");

  const change = {
    params: { path: { petId: first.id }, header: { "If-Match": '"available"' } },
    body: { status: "pending" },
  } as const;
  const changed = await client.PATCH("/pets/{petId}", change);
  assert.deepEqual(changed.data, { ...first, status: "pending" });
  const late = await client.PATCH("/pets/{petId}", change);
  assert.ok(late.error?.code === "precondition_failed" && late.error.status === 412);

  const limits = await client.GET("/limits");
  assert.equal(limits.data?.plan, "business");
  assert.equal(limits.data.minute.remaining, Number(limits.response.headers.get("X-RateLimit-Remaining")));

  const stranger = createClient<paths>({ baseUrl });
  const refused = await stranger.GET("/pets");
  assert.ok(refused.error?.code === "missing_api_key" && refused.error.status === 401);
}
