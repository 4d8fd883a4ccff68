// Counts the requests of each API key: of the API, and of any route behind the guard.
import express from "express";
import { openAnimalStore } from "animal-store";

const service = await openAnimalStore({ dataDir: process.env.DATA });
const requests = new Map();

const app = express();
app.use((request, response, next) => {
  response.once("finish", () => {
    const key = service.keyOf(request);
    if (key !== undefined) requests.set(key.id, (requests.get(key.id) ?? 0) + 1);
  });
  next();
});
app.use(service.handle);
app.get("/hello", (request, response) => response.send("hello"));
app.get("/own/requests", service.guard, (request, response) => {
  response.json(requests.get(service.keyOf(request)?.id) ?? 0);
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));
process.once("SIGTERM", () => server.close(() => service.close()));
