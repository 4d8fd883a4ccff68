/** An embedder's program in TypeScript, which is compiled and never run. */

import { createServer } from "node:http";
import {
  type AnimalStore, type CallerKey, ContentTakenError, DatabaseError, type NewPet, type Pet, type PetPage, petToJson,
  type WrittenPet,
} from "animal-store";
import connect from "connect";
import express from "express";
import fastify from "fastify";

export async function useKeys({ keys }: AnimalStore): Promise<void> {
  const { id } = await keys.create({ plan: "pro" });
  await keys.plan(id, { plan: "enterprise", perMinute: 5, perDay: 100 });
  await keys.label(id, "till");
  await keys.expire(id, new Date("2100-01-31"));
  await keys.expire(id, "never");
  // @ts-expect-error: what is not said is not "never".
  await keys.expire(id);
  // @ts-expect-error: there is no such plan.
  await keys.create({ plan: "gold" });
  // @ts-expect-error: there is no such plan.
  await keys.plan(id, { plan: "Pro" });
}

export function mount(service: AnimalStore): void {
  express().use("/own", service.guard, (request, response) => response.json(service.keyOf(request)));
  connect().use("/own", service.guard);
  fastify().addHook("onRequest", (request, reply, done) => service.guard(request.raw, reply.raw, done));
  createServer((request, response) => service.guard(request, response, () => response.end()));
  // @ts-expect-error: a request that is let through has to go on.
  createServer((request, response) => service.guard(request, response));
  // @ts-expect-error: Fastify's own request is none of Node's.
  fastify().get("/own", async (request) => service.keyOf(request));
}

/** With the names that an editor offers first. */
export async function usePets({ pets }: AnimalStore): Promise<Pet> {
  const rex: NewPet = { name: "Rex", categoryId: 1 };
  const added: WrittenPet = await pets.add(rex);
  const page: PetPage = await pets.list({ after: added.id });
  const pet: Pet = page.pets[0] ?? (await pets.get(1));
  await pets.change(added.id, { name: "Rexi" }, { from: added });
  return added.isReplay === true ? pet : pets.changeStatus(pet.id, "sold", { from: pet.status });
}

/** An animal whose category is beyond the exact numbers. */
export function exactText(): string {
  return petToJson({ id: 1, name: "Rex", categoryId: 2n ** 62n, status: "available" });
}

export function isFree(key: CallerKey | undefined): boolean {
  return key?.plan === "free";
}

export function effectOf(error: unknown): "none" | "unknown" | undefined {
  if (error instanceof ContentTakenError) {
    return "none";
  }
  return error instanceof DatabaseError ? error.effect : undefined;
}
