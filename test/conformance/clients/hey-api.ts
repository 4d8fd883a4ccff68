/**
 * A client of @hey-api/openapi-ts, as its developer would write it.
 */

import assert from "node:assert/strict";
import { createClient } from "../generated/hey-api/client/index.js";
import { changePet, createPet, getLimits, getPet, listPets, type Pet } from "../generated/hey-api/index.js";

export async function round(baseUrl: string, apiKey: string): Promise<void> {
  const client = createClient({ baseUrl, auth: () => apiKey });
  const before = await listPets({ client, query: { limit: 100 } });
  const created: Pet[] = [];
  for (const name of ["Dora", "Emil", "Fips"]) {
    const { data, response } = await createPet({ client, body: { name, categoryId: 7, status: "sold" } });
    assert.equal(response.status, 201);
    assert.ok(data);
    created.push(data);
  }
  // @ts-expect-error: there is no such status.
  const wrong = await createPet({ client, body: { name: "Rex", categoryId: 7, status: "dead" } });
  assert.equal(wrong.error?.code, "invalid_body");

  const listed = await listPets({ client, query: { limit: 100 } });
  assert.deepEqual(listed.data, [...(before.data ?? []), ...created]);
  const sold = await listPets({ client, query: { status: "sold", limit: 2 } });
  assert.deepEqual(sold.data, created.slice(0, 2));
  assert.match(sold.response.headers.get("Link") ?? "", /rel="next"/);
  const rest = await listPets({ client, query: { status: "sold", after: sold.data?.at(-1)?.id ?? 0 } });
  assert.deepEqual(rest.data, created.slice(2));

  const [first] = created;
  assert.ok(first);
  assert.deepEqual((await getPet({ client, path: { petId: first.id } })).data, first);
  assert.equal((await getPet({ client, path: { petId: 999_999 } })).error?.code, "pet_not_found");

  const change = { client, path: { petId: first.id }, headers: { "If-Match": '"sold"' }, body: { status: "available" } } as const;
  assert.deepEqual((await changePet(change)).data, { ...first, status: "available" });
  assert.equal((await changePet(change)).error?.code, "precondition_failed");

  const limits = await getLimits({ client });
  assert.equal(limits.data?.day.limit, 100_000);
  assert.equal(limits.data.minute.remaining, Number(limits.response.headers.get("X-RateLimit-Remaining")));

  const stranger = createClient({ baseUrl, auth: () => "as_wrong" });
  assert.equal((await listPets({ client: stranger })).error?.code, "invalid_api_key");
}
