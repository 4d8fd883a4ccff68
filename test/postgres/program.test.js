import assert from "node:assert/strict";
import { test } from "node:test";
import { guardedFolder } from "./guarded-folder.js";
import { createKey, newClient, runCommand, startProgram } from "./program.js";

test("the program starts, answers its client, and keeps what it has confirmed when it is killed", async (context) => {
  const store = ["--data", guardedFolder("data")];
  const key = await createKey(store);
  const program = await startProgram(store);
  context.after(() => program.kill());
  const client = newClient(program, key);
  context.after(() => client.close());
  assert.equal((await client.add({ name: "Rex", categoryId: 5 })).status, 201);
  assert.deepEqual(await program.kill(), { code: null, signal: "SIGKILL" });
  await assert.rejects(client.get("/v1/pets/1"), { code: /^ECONN/ });

  const next = await startProgram(store);
  const nextClient = newClient(next, key);
  const { status, text } = await nextClient.get("/v1/pets/1");
  assert.deepEqual([status, JSON.parse(text).name], [200, "Rex"]);
  nextClient.close();
  await next.stop();
});

test("a stopped program is silent, and goes on", async (context) => {
  const program = await startProgram(["--data", guardedFolder("data")]);
  context.after(() => program.kill());
  const hasty = newClient(program, "", { timeoutMs: 100 });
  const client = newClient(program, "");
  context.after(() => [hasty, client].forEach((one) => one.close()));
  program.signal("SIGSTOP");
  await assert.rejects(hasty.get("/healthz"), { name: "AbortError" });
  program.signal("SIGCONT");
  assert.equal((await client.get("/healthz")).status, 200);
});

test("a program that cannot start says why", async () => {
  await assert.rejects(startProgram(["--no-such-flag"]), /ended with 2: .*--no-such-flag/s);
  assert.equal((await runCommand(["--version"])).code, 0);
});
