/** Compiled only. A line below `@ts-expect-error` must not compile. */

import {
  AnimalStoreClient, AnimalStoreError, type ErrorCode, type NewPet, type Pet, type PetChange, type PetState, type PetStatus,
  petToJson, type VersionedPet,
} from "animal-store/client";

const client = new AnimalStoreClient({ url: "https://example.com/v1", key: "as_key", timeoutMs: 5_000 });
const { pets } = client;

export async function right(signal: AbortSignal): Promise<void> {
  const luna: VersionedPet = await pets.add({ name: "Luna", categoryId: 9223372036854775807n });
  const rex: NewPet = { name: "Rex", categoryId: 1, status: "pending" };
  await pets.add(rex, { idempotencyKey: "order-17", signal });
  await pets.add(rex, { idempotencyKey: null });
  const category: number | bigint = luna.categoryId;
  const { pets: page, nextAfter } = await pets.list({ status: "sold", categoryId: luna.categoryId, limit: 100, after: luna.id });
  const next: number | undefined = nextAfter;
  for await (const { status } of pets.all({ status: "available" })) {
    const one: PetStatus = status;
    console.log(one, category, page.length, next);
  }
  const listed: Pet | undefined = page[0];
  const correction: PetChange = { name: "Luna II", categoryId: 2n };
  const { status, version } = await pets.change(luna.id, correction, { from: listed?.status ?? luna });
  const kept: PetState = { status, version };
  await pets.remove(luna.id, { from: kept });
  const text: string = petToJson(page) + petToJson(luna);
  console.log(text, new AnimalStoreClient({ url: new URL("https://example.com/v1"), key: "as_key" }));
  try {
    await pets.changeStatus(luna.id, "pending", { from: ["available", "sold"] });
  } catch (error) {
    if (error instanceof AnimalStoreError && error.code === "precondition_failed") {
      const now: PetStatus | undefined = error.petStatus;
      const code: ErrorCode = error.code;
      console.log(now, error.petVersion === version, code, error.retryAfter, error.requestId, error.status);
    }
  }
  const { plan, minute } = await client.limits();
  console.log(plan === "free" ? minute.remaining : minute.reset);
}

export async function wrong(): Promise<void> {
  // @ts-expect-error There is no such status.
  await pets.add({ name: "Rex", categoryId: 1, status: "lost" });
  // @ts-expect-error It is no integer.
  await pets.add({ name: "Rex", categoryId: "1" });
  // @ts-expect-error The service gives the id.
  await pets.add({ id: 1, name: "Rex", categoryId: 1 });
  // @ts-expect-error A change is always conditional.
  await pets.changeStatus(1, "sold");
  // @ts-expect-error There is no such status.
  await pets.changeStatus(1, "sold", { from: "lost" });
  // @ts-expect-error A listed animal has no version.
  await pets.changeStatus(1, "sold", { from: (await pets.list()).pets[0]! });
  // @ts-expect-error There is no such member.
  await pets.change(1, { nickname: "Rexi" }, { from: "available" });
  // @ts-expect-error An animal cannot be changed in place.
  (await pets.get(1)).status = "sold";
  // @ts-expect-error There is no such plan.
  if ((await client.limits()).plan === "gold") return;
  // @ts-expect-error There is no such option.
  await pets.list({ stats: "sold" });
  // @ts-expect-error It has a key.
  new AnimalStoreClient({ url: "https://example.com/v1" });
}
