/**
 * The service embedded in a program, as an embedder does it.
 *
 *     node service.js DIST URL
 */
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";

const [dist = "", url = ""] = process.argv.slice(2);
const { openAnimalStore } = await import(pathToFileURL(join(dist, "index.js")).href);
const store = await openAnimalStore({ database: new pg.Pool({ connectionString: url, max: 10 }) });
const server = createServer(store.handle).listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/v1`);
});
process.on("SIGTERM", () => process.exit(0));
