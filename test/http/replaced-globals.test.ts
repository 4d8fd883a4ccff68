/**
 * A service in a test of the program that embeds it, whose framework has replaced the globals that tell and wait for
 * time: they stand still. In a process of its own, because the runner of this test needs them.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { programPath } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const replaceGlobals = `
  for (const name of ["Timeout", "Interval", "Immediate"]) {
    globalThis["set" + name] = () => ({ ref() {}, unref() {} });
    globalThis["clear" + name] = () => {};
  }
  const [wallMs, monotonicMs] = [Date.now(), performance.now()];
  Date.now = () => wallMs;
  Object.defineProperty(globalThis, "performance", { value: { now: () => monotonicMs } });`;

test("an embedded service adds, lists and closes while the timers and clocks of the globals stand still", (context) => {
  const script = `
    import { once } from "node:events";
    import { createServer, request } from "node:http";
    ${replaceGlobals}
    const { openAnimalStore } = await import(${JSON.stringify(new URL("index.js", pathToFileURL(programPath)))});
    const options = { dataDir: ${JSON.stringify(temporaryFolder(context))}, metrics: true };
    const service = await openAnimalStore(options);
    const { key } = await service.keys.create();
    const server = createServer(service.handle).listen(0, "127.0.0.1");
    await once(server, "listening");
    const send = async (method, body) => {
      const headers = { Authorization: "Bearer " + key, ...(body && { "Content-Type": "application/json" }) };
      const sent = request({ port: server.address().port, path: "/v1/pets", method, headers, agent: false }).end(body);
      const [response] = await once(sent, "response");
      return [response.statusCode, Buffer.concat(await response.toArray()).toString()];
    };
    console.log(...(await send("POST", '{"name":"Rex","categoryId":1}')));
    console.log(...(await send("GET")));
    server.close();
    await service.close();
    await openAnimalStore(options).then((again) => again.close());
    console.log("closed");`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", timeout: 30_000 });
  const rex = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}';
  assert.equal(printed, `201 ${rex}\n200 [${rex}]\nclosed\n`);
});
