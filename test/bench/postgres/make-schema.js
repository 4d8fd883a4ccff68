/** Makes the schema of a build in a database that has none, as its `keys create` does. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** @param {string} dist the build */
export async function makeSchema(dist, pool) {
  const load = (path) => import(pathToFileURL(join(dist, "postgres", path)).href);
  const [{ Database }, { prepareSchema }] = await Promise.all([load("database.js"), load("schema.js")]);
  const database = new Database(pool, () => undefined);
  await prepareSchema(database, () => undefined, "make").finally(() => database.close());
}
