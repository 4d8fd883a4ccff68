// The animal store in a program with Fastify.

import middie from "@fastify/middie";
import { openAnimalStore } from "animal-store";
import fastify from "fastify";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data" });

const app = fastify();
await app.register(middie);
app.use(service.handle); // Runs before Fastify reads any body.
app.get("/hello", async () => "hello");
app.addHook("onClose", () => service.close());

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log("listening");

process.once("SIGTERM", () => app.close());
