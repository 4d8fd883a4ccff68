/**
 * An embedder's service on a database, in a process of its own: this file, run as a program. Its keys can be changed from
 * here. It goes with the test process.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openAnimalStore } from "../../dist/index.js";
import { guardedFolder } from "./guarded-folder.js";

const thisFile = fileURLToPath(import.meta.url);

/**
 * Starts an instance and resolves when it listens. Rejects with its reason if it cannot start.
 *
 * @param context a test, after which it is killed
 * @param pool options of a `Pool` of `pg` beside the address
 */
export async function startInstance(url, { context, pool = {} } = {}) {
  const config = JSON.stringify({ connectionString: url, connectionTimeoutMillis: 1_000, keepAlive: true, ...pool });
  const stdio = ["ignore", "ignore", "pipe", "ipc"];
  const child = fork(thisFile, [config], { cwd: guardedFolder("instance"), stdio });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const exited = once(child, "exit");
  context?.after(() => child.kill("SIGKILL") && exited);
  const waiting = new Map();
  child.on("message", ({ call, error, result }) => {
    const { resolve, reject } = waiting.get(call);
    waiting.delete(call);
    error === undefined ? resolve(result) : reject(new Error(error));
  });
  let calls = 0;
  const receive = () => new Promise((resolve, reject) => waiting.set(calls++, { resolve, reject }));
  const call = (method, ...args) => {
    child.send({ call: calls, method, args });
    return receive();
  };
  const listening = receive(); // Call 0, which nobody has to send.
  const ended = exited.then(([code, signal]) => Promise.reject(new Error(`The instance ended with ${signal ?? code}: ${said}`)));
  const { port } = await Promise.race([listening, ended]);
  return {
    origin: `http://127.0.0.1:${port}`,
    /** What it has reported to its operator, but that it made the schema. */
    reports: () => said.replace(/^info: made the schema animal_store\n/, ""),
    /** The methods of `service.keys`. */
    keys: Object.fromEntries(keyMethods.map((method) => [method, (...args) => call(method, ...args)])),
    /** Sends a signal that does not end it. */
    signal: (name) => child.kill(name),
  };
}

const keyMethods = ["create", "list", "revoke", "plan", "label", "expire", "rotate", "unban", "reset"];

async function serve() {
  const pool = new pg.Pool(JSON.parse(process.argv[2]));
  const report = (message, level) => process.stderr.write(`${level}: ${message}\n`);
  const service = await openAnimalStore({ database: pool, report });
  const server = createServer(service.handle);
  server.listen(0, "127.0.0.1", () => process.send({ call: 0, result: { port: server.address().port } }));
  process.on("message", ({ call, method, args }) => {
    service.keys[method](...args).then(
      (result) => process.send({ call, result }),
      (error) => process.send({ call, error: error.message }),
    );
  });
}

if (process.argv[1] === thisFile) {
  serve().catch(({ message }) => {
    process.stderr.write(`${message}\n`, () => process.exit(1)); // A pool keeps a process running.
  });
}
