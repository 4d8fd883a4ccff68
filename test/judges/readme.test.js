/**
 * The documents against the program: commands print what is shown, links lead somewhere, and no setting, error code or
 * command is missing.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { here, programPath, startService, stopProgram } from "./running-service.js";

const project = join(here, "..", "..");
const documents = ["README.md", "src/README.md", "test/bench/README.md"];
const readme = await readFile(join(project, "README.md"), "utf8");

function help(...command) {
  return spawnSync(process.execPath, [programPath, ...command, "--help"], { encoding: "utf8" }).stdout;
}

/** The names of a document's headings in links. */
async function anchorsOf(document) {
  const text = await readFile(join(project, document), "utf8");
  return Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title]) => {
    return title.toLowerCase().replace(/[^a-z0-9 -]/g, "").replaceAll(" ", "-");
  });
}

/** Starts the program on an empty folder. @returns what it prints until it listens */
async function firstStart(folder) {
  const child = spawn(process.execPath, [programPath, "--port", "0", "--data", folder]);
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith("listening on ")) {
      return { child, printed: lines.join("\n") };
    }
  }
  throw new Error("Cannot start the program: it ended before it listened");
}

/** What the README shows in place of a key and a port. */
const sampleKey = "as_…";
const samplePort = /127\.0\.0\.1:3000/g;

test("the command that the first start prints works, and the README's commands print what it shows", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "animal-store-first-"));
  const { child, printed } = await firstStart(folder);
  context.after(async () => {
    await stopProgram(child);
    await rm(folder, { recursive: true });
  });
  const [key] = printed.match(/as_[A-Za-z0-9]{43}/);
  const [host] = printed.match(/127\.0\.0\.1:\d+/);
  const real = (text) => text.replace(sampleKey, key).replace(samplePort, host);
  const run = (command) => execFileSync("sh", ["-c", command], { encoding: "utf8", stdio: "pipe" });

  assert.equal(run(/^ *(curl .*)$/m.exec(printed)[1]), "[]");

  const [, session] = /^```console\n(.*?)\n```$/ms.exec(readme);
  const [assignment, ...steps] = session.split(/^\$ /m).slice(1).map(real);
  for (const step of steps) {
    const [, command, output] = /^((?:[^\n]*\\\n)*[^\n]*)\n(.*?)\n?$/s.exec(step);
    assert.equal(run(assignment + command), output);
  }
});

for (const document of documents) {
  test(`every link of ${document} leads to a file or a heading`, async () => {
    const text = await readFile(join(project, document), "utf8");
    for (const [, path, anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const found = await stat(join(project, dirname(document), path)).catch(() => undefined);
      assert.ok(found !== undefined, `${document} links ${path}`);
      const linked = path === "" ? document : join(dirname(document), path);
      const hasAnchor = anchor === undefined || (await anchorsOf(linked)).includes(anchor);
      assert.ok(hasAnchor, `${document} links ${path}#${anchor}`);
    }
  });
}

test("the README lists the settings and variables that --help lists", () => {
  const rows = [...readme.matchAll(/^\| `(--[a-z-]+)` \| `([A-Z_]+)` \|/gm)];
  const listed = rows.flatMap(([, flag, variable]) => [flag, variable]).filter((name) => name !== "PORT");
  const shown = help().match(/^ *--[a-z-]+|ANIMAL_STORE_[A-Z_]+/gm).map((name) => name.trim());
  const ofCommands = ["--help", "--version"];
  assert.deepEqual(listed.sort(), shown.filter((name) => !ofCommands.includes(name)).sort());
});

test("the README lists each error code that the description lists", async () => {
  const service = await startService();
  const description = await (await fetch(`${service.origin}/openapi.json`)).json();
  await service.stop();
  const section = /^## Errors\n(.*?)^## /ms.exec(readme)[1];
  const listed = Array.from(section.matchAll(/^\| \d.*? \| (.*?) \|/gm), ([, codes]) => codes.match(/[a-z_]+/g)).flat();
  const missing = description.components.schemas.Error.properties.code.enum.filter((code) => !listed.includes(code));
  assert.deepEqual(missing, []);
});

test("the README lists the commands for keys that --help lists", () => {
  const shown = help("keys").match(/\b(create|list|plan|rotate|revoke|unban)\b/g);
  for (const command of new Set(shown)) {
    assert.match(readme, new RegExp(`^\\|.*\`keys ${command}\\b`, "m"));
  }
});

test("the files that src/README.md names exist", async () => {
  const text = await readFile(join(project, "src", "README.md"), "utf8");
  for (const [, path] of text.matchAll(/`([a-z0-9/-]+\.ts)`/g)) {
    const found = await stat(join(project, path.startsWith("test/") ? "" : "src", path)).catch(() => undefined);
    assert.ok(found !== undefined, path);
  }
});

test("the tests that src/README.md names for faults exist", async () => {
  const text = await readFile(join(project, "src", "README.md"), "utf8");
  const [, table] = /^\| fault \|.*?\n(.*?)\n\n/ms.exec(text);
  for (const [, cell] of table.matchAll(/\| ([^|]+) \|$/gm)) {
    for (const [, name] of cell.matchAll(/`([a-z-]+)`/g)) {
      assert.ok((await stat(join(project, "test", "fault", `${name}.test.ts`))).isFile());
    }
  }
});
