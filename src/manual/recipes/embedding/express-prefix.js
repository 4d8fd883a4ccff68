// The animal store in a program with Express, at the prefix /shop.

import { openAnimalStore } from "animal-store";
import express from "express";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data" });

const app = express();
app.get("/hello", (request, response) => response.send("hello"));
app.use("/shop", service.handle); // The API is at /shop/v1, and its links say so.

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log("listening");
});

process.once("SIGTERM", () => {
  server.close(() => service.close());
  setTimeout(() => server.closeAllConnections(), 10_000).unref(); // A client may keep its connection open.
});
