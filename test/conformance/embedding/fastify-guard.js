// The animal store in a program with Fastify, whose own routes need its keys too.

import middie from "@fastify/middie";
import { openAnimalStore } from "animal-store";
import fastify from "fastify";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data" });

const app = fastify();
await app.register(middie);
app.use(service.handle);
app.get("/hello", async () => "hello");
app.register(async (own) => { // The same keys, with the same limits, for these routes.
  own.addHook("onRequest", (request, reply, done) => service.guard(request.raw, reply.raw, done));
  own.get("/own/plan", async (request) => service.keyOf(request.raw)?.plan);
});
app.addHook("onClose", () => service.close());

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log("listening");

process.once("SIGTERM", () => app.close());
