// The animal store in a program with node:http.

import { createServer } from "node:http";
import { openAnimalStore } from "animal-store";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data" });

const server = createServer((request, response) => {
  service.handle(request, response, (error) => { // Called for paths outside /v1, or if the body was read before.
    response.statusCode = error ? 500 : 200;
    response.end(error ? "failed" : "hello");
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));

process.once("SIGTERM", () => {
  server.close(() => service.close());
  setTimeout(() => server.closeAllConnections(), 10_000).unref(); // A client may keep its connection open.
});
