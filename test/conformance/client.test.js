/** The client as it is published: its types, and on other runtimes than Node. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { one } from "../../build/test/support/certificates.js";
import { project } from "./examples.js";
import { here, startService } from "./running-service.js";

/** This project has release 7, the conformance tests have release 5. */
const compilers = { "TypeScript 5": here, "TypeScript 7": project };

for (const [compiler, folder] of Object.entries(compilers)) {
  // Release 7 no longer has the old resolution.
  for (const resolution of compiler === "TypeScript 5" ? ["nodenext", "bundler", "node10"] : ["nodenext", "bundler"]) {
    test(`${compiler}, ${resolution}: right uses of the client compile, wrong ones do not`, async () => {
      const program = join(folder, "node_modules", "typescript", "bin", "tsc");
      const module = resolution === "nodenext" ? resolution : "esnext";
      const flags = ["--module", module, "--moduleResolution", resolution];
      const compiling = promisify(execFile)(process.execPath, [program, "--project", join(here, "client"), ...flags]);
      assert.equal((await compiling.catch((error) => error)).stdout, "");
    });
  }
}

test("the client imports nothing: a page can load its file alone", async () => {
  const code = await readFile(join(here, "node_modules", "animal-store", "dist", "client", "client.js"), "utf8");
  assert.doesNotMatch(code, /^import|\bimport\(|\bfrom "/m);
});

const runtimes = {
  node: [process.execPath],
  bun: [join(here, "node_modules", "@oven", "bun-linux-x64", "bin", "bun")],
  deno: [join(here, "node_modules", ".bin", "deno"), "run", "--allow-net", "--allow-env"],
};

for (const [name, [program, ...args]] of Object.entries(runtimes)) {
  const skip = !existsSync(program) && `npm has no ${name} for this machine`;
  test(`the client adds, lists, changes and sends again in ${name}`, { skip }, async (context) => {
    const service = await startService();
    context.after(() => service.stop());
    const selfSigned = createServer(one).listen(0, "127.0.0.1");
    context.after(() => selfSigned.close());
    await once(selfSigned, "listening");
    const tlsUrl = `https://127.0.0.1:${selfSigned.address().port}/v1`;
    const env = { ...process.env, URL: service.baseUrl, TLS_URL: tlsUrl, KEY: service.apiKey };
    const { stdout } = await promisify(execFile)(program, [...args, join("client", "round.mjs")], { cwd: here, env });
    assert.equal(stdout, "done\n");
  });
}
