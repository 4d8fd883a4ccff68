/**
 * The recipe of a client that sends a request until it knows the outcome, run as it is written. Its waits are recorded
 * and take no time.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { here, startService } from "./running-service.js";

const recipe = await readFile(join(here, "..", "recipes", "add-animal.js"), "utf8");
const code = recipe.replace(/^export /m, "");
const animal = { name: "Rex", categoryId: 1 };

/** @returns the function, and the seconds that it has waited so far */
function quoted() {
  const waitsSeconds = [];
  const setTimeout = (resolve, ms) => {
    waitsSeconds.push(ms / 1_000);
    resolve();
  };
  return { addAnimal: new Function("setTimeout", `${code}\nreturn addAnimal;`)(setTimeout), waitsSeconds };
}

/**
 * Starts a server that treats its requests as the script says, one after the other, and keeps their keys. It is closed
 * after the test.
 */
async function scripted(context, script) {
  const keys = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const [status, fields, isCut] = script[keys.length];
      keys.push(request.headers["idempotency-key"]);
      if (status === undefined) {
        request.socket.destroy();
      } else if (isCut) {
        response.writeHead(status, { "Content-Length": 100 }).write("{");
        setImmediate(() => request.socket.destroy());
      } else {
        response.writeHead(status, { ...fields, Connection: "close" }).end(`status ${status}`);
      }
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}/v1/pets`, keys };
}

test("the recipe's function sends the same key until it gets a response to keep", async (context) => {
  const date = new Date().toUTCString(); // As a proxy may send it.
  const script = [[], [503, {}], [429, { "Retry-After": "300" }], [201, {}, true], [408, {}], [503, { "Retry-After": date }], [201, {}]];
  const server = await scripted(context, script);
  const { addAnimal, waitsSeconds } = quoted();
  assert.equal((await addAnimal(server.url, "as_key", animal)).text, "status 201");
  assert.deepEqual(waitsSeconds, [1, 2, 300, 8, 16, 32]);
  assert.equal(server.keys.length, script.length);
  assert.equal(new Set(server.keys).size, 1);
});

test("the recipe's function stops at an error of the request, and after ten attempts", async (context) => {
  for (const status of [400, 401, 413, 422]) {
    const server = await scripted(context, [[status, {}]]);
    const { addAnimal, waitsSeconds } = quoted();
    assert.equal((await addAnimal(server.url, "as_key", animal)).response.status, status);
    assert.deepEqual(waitsSeconds, []);
  }
  const server = await scripted(context, Array(10).fill([]));
  const { addAnimal, waitsSeconds } = quoted();
  await assert.rejects(addAnimal(server.url, "as_key", animal), /ten attempts failed/);
  assert.equal(waitsSeconds.length, 9);
  assert.equal(server.keys.length, 10);
  await assert.rejects(addAnimal("127.0.0.1/v1/pets", "as_key", animal), TypeError); // It is not tried again.
  assert.equal(waitsSeconds.length, 9);
});

test("the recipe's function adds an animal", async (context) => {
  const service = await startService();
  context.after(() => service.stop());
  const { response, text } = await quoted().addAnimal(`${service.baseUrl}/pets`, service.apiKey, animal);
  assert.deepEqual([response.status, text], [201, '{"id":1,"name":"Rex","categoryId":1,"status":"available"}']);
});
