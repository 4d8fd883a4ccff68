/**
 * The documents against the program: commands print what is shown, links lead somewhere, and no setting, error code or
 * command is missing.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openAnimalStore } from "../../dist/index.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { project, runExamples } from "./examples.js";
import { programPath, startService } from "./running-service.js";

const manual = (await readdir(join(project, "src", "manual"))).filter((name) => name.endsWith(".md")).map((name) => `src/manual/${name}`);
const forUsers = ["README.md", ...manual];
const documents = [...forUsers, "src/README.md", "src/observe/README.md", "src/postgres/README.md", "test/bench/README.md"];
const readme = await readFile(join(project, "README.md"), "utf8");
const clients = await readFile(join(project, "src", "manual", "clients.md"), "utf8");
const operators = await readFile(join(project, "src", "manual", "operators.md"), "utf8");

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

/** Runs the command in the folder. @returns what it prints until it listens; the test's end stops it */
async function firstStart(context, command, cwd) {
  const env = { ...process.env, PORT: "0" };
  const child = spawn("sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "inherit"], detached: true });
  const ended = once(child, "close");
  context.after(async () => {
    process.kill(-child.pid, "SIGTERM"); // The shell, npm and the program.
    await ended;
    await rm(cwd, { recursive: true });
  });
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith("listening on ")) {
      return lines.join("\n");
    }
  }
  throw new Error(`Cannot run ${command}: it ended before it listened`);
}

test("the README's command starts a clone, and the curl command that the start prints works", async (context) => {
  const [start, check] = Array.from(readme.matchAll(/^```sh\n(.*?)\n```$/gms), ([, block]) => block);
  assert.deepEqual([start, check], ["npm ci && npm start", "npm ci && npm test"]);
  assert.match(await readFile(join(project, ".ci", "run"), "utf8"), /^npm ci\nnpm test$/m);

  const clone = await mkdtemp(join(tmpdir(), "animal-store-clone-"));
  for (const name of ["package.json", "package-lock.json", "tsconfig.json", "src"]) {
    await cp(join(project, name), join(clone, name), { recursive: true });
  }
  const printed = await firstStart(context, start, clone);
  assert.equal(execFileSync("sh", ["-c", /^ *(curl .*)$/m.exec(printed)[1]], { encoding: "utf8", stdio: "pipe" }), "[]");
});

/** Programs that examples use and a machine may not have, with their packages in Debian. */
const tools = { jq: "jq", openssl: "openssl", promtool: "prometheus" };

/** Those that show no command with its output. */
const withoutExamples = ["src/manual/changes.md", "src/manual/several-instances.md"];

for (const document of forUsers.filter((one) => !withoutExamples.includes(one))) {
  test(`the examples of ${document} print what it shows`, async (context) => {
    const text = await readFile(join(project, document), "utf8");
    const missing = Object.keys(tools).find((tool) => RegExp(`^\\$.*\\b${tool} `, "m").test(text) && spawnSync(tool, ["version"]).error !== undefined);
    if (missing !== undefined) {
      context.skip(`${missing} is not installed (Debian: ${tools[missing]})`);
      return;
    }
    const steps = await runExamples(context, document);
    assert.ok(steps.length > 0);
    for (const { command, expected, printed } of steps) {
      assert.match(printed, expected, command);
    }
  });
}

const hasJq = spawnSync("jq", ["--version"]).error === undefined;

test("the line of jq shows the animals of a file as they are, corrected and removed ones too", { skip: !hasJq && "jq is not installed" }, async (context) => {
  const [, line] = /^- `(jq .* pets\.jsonl)`/m.exec(await readFile(join(project, "src", "README.md"), "utf8"));
  const dataDir = temporaryFolder(context);
  const service = await openAnimalStore({ dataDir, report: assert.fail });
  const { pets } = service;
  const [rex, bo] = [await pets.add({ name: "Rex", categoryId: 1 }), await pets.add({ name: "Bo", categoryId: 2 })];
  await pets.add({ name: "Max", categoryId: 3 });
  await pets.changeStatus(rex.id, "sold", { from: rex });
  await pets.change(bo.id, { name: "Bob", categoryId: -4, status: "pending" }, { from: bo });
  await pets.changeStatus(bo.id, "available", { from: "pending" });
  await pets.remove(3, { from: "available" });
  const listed = (await pets.list()).pets;
  await service.close();
  const shown = JSON.parse(execFileSync("sh", ["-c", line], { cwd: dataDir, encoding: "utf8" }));
  const members = shown.map(({ id, name, categoryId, status, ...others }) => {
    assert.ok(!("version" in others));
    return { id, name, categoryId, status };
  });
  assert.deepEqual(members, listed);
});

test("the README has at most 1,300 words and 200 lines", () => {
  assert.ok(readme.split("\n").length <= 201);
  const words = readme.match(/\S+/g).length;
  assert.ok(words <= 1_300, `${words} words`);
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

test("the operators' page lists the settings and variables that --help lists", () => {
  const rows = [...operators.matchAll(/^\| `(--[a-z-]+)` \| `([A-Z_]+)` \|/gm)];
  const listed = rows.flatMap(([, flag, variable]) => [flag, variable]).filter((name) => name !== "PORT");
  const shown = help().match(/^ *--[a-z-]+|ANIMAL_STORE_[A-Z_]+/gm).map((name) => name.trim());
  const ofCommands = ["--help", "--version"];
  assert.deepEqual(listed.sort(), shown.filter((name) => !ofCommands.includes(name)).sort());
});

test("the clients' page lists the error codes of the description", async () => {
  const service = await startService();
  const description = await (await fetch(`${service.origin}/openapi.json`)).json();
  await service.stop();
  const codes = description.components.schemas.Error.properties.code.enum;
  const rows = Array.from(clients.matchAll(/^\| (`[a-z_`, ]+) \| (\d+(?:, \d+)*) \|/gm), ([, cell]) => cell.match(/[a-z_]+/g)).flat();
  assert.deepEqual(rows.sort(), codes.toSorted());
});

test("the operators' page lists the commands for keys that --help lists", () => {
  const shown = help("keys").match(/^  [a-z]+/gm).map((name) => name.trim());
  const listed = Array.from(operators.matchAll(/^\| (`keys .*?) \|/gm), ([, cell]) => cell.match(/(?<=keys )[a-z]+/g)).flat();
  assert.deepEqual(listed.sort(), shown.sort());
});

test("the files that src/README.md names exist, and those of both lists of faults", async () => {
  const text = await readFile(join(project, "src", "README.md"), "utf8");
  const files = Array.from(text.matchAll(/`([a-z0-9/-]+\.[jt]s)`/g), ([, path]) => (path.startsWith("test/") ? path : `src/${path}`));
  const lists = { "test/fault/failing-disk.test.ts": "test/fault/*.test.ts", "test/postgres/faults.js": "test/postgres/*.test.js" };
  for (const [list, tests] of Object.entries(lists)) {
    const rows = (await readFile(join(project, list), "utf8")).match(/^ \*     \S.*$/gm);
    assert.ok(rows.length > 10);
    const names = rows.flatMap((row) => /[a-z/-]+(?:, [a-z/-]+)*$/.exec(row)[0].split(", "));
    files.push(...names.map((name) => (name.endsWith("/") ? `test/${name}` : tests.replace("*", name))));
  }
  for (const path of files) {
    assert.ok((await stat(join(project, path)).catch(() => undefined)) !== undefined, path);
  }
});
