// The animal store in a program with Connect, at the prefix /shop.

import { createServer } from "node:http";
import { openAnimalStore } from "animal-store";
import connect from "connect";

const service = await openAnimalStore({ dataDir: process.env.DATA ?? "data" });

const app = connect();
app.use("/hello", (request, response) => response.end("hello"));
app.use("/shop", service.handle);

const server = createServer(app);
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));

process.once("SIGTERM", () => {
  server.close(() => service.close());
  setTimeout(() => server.closeAllConnections(), 10_000).unref(); // A client may keep its connection open.
});
