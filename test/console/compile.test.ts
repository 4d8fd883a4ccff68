/**
 * The console and the server are compiled apart: what one of them has by nature is unknown to the other.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

/** Run from build/test/console. */
const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Compiles one file under the settings of a part of the project; resolves to what the compiler says. */
async function compile(context: TestContext, settings: string, source: string): Promise<string> {
  const folder = await mkdtemp(join(root, "build", "compile-"));
  context.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "source.ts"), source);
  const tsconfig = {
    extends: join(root, settings),
    compilerOptions: { rootDir: ".", noEmit: true, typeRoots: [join(root, "node_modules", "@types")] },
    include: ["source.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  return new Promise((resolve) => execFile(process.execPath, [compiler, "-p", folder], (_, stdout) => resolve(stdout)));
}

test("a name of the browser is a compile error in the server's code", async (context) => {
  assert.match(await compile(context, "tsconfig.json", "export const title: string = document.title;\n"), /'document'/);
  assert.equal(await compile(context, "tsconfig.json", "export const path: string = process.cwd();\n"), "");
});

test("a name of Node is a compile error in the console's code", async (context) => {
  const settings = join("src", "console", "tsconfig.json");
  assert.match(await compile(context, settings, "export const path: string = process.cwd();\n"), /'process'/);
  assert.equal(await compile(context, settings, "export const title: string = document.title;\n"), "");
});
