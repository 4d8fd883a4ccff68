// The animal store in a program with node:https: it ends TLS itself.

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { openAnimalStore } from "animal-store";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data", baseUrl: "https://localhost/v1" });

const server = createServer(
  { key: readFileSync(process.env.TLS_KEY ?? "key.pem"), cert: readFileSync(process.env.TLS_CERT ?? "cert.pem") },
  (request, response) => service.handle(request, response, () => response.end("hello")),
);
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));

process.once("SIGTERM", () => {
  server.close(() => service.close());
  setTimeout(() => server.closeAllConnections(), 10_000).unref(); // A client may keep its connection open.
});
