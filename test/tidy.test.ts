/**
 * Style, kept by an ordinary test instead of a linter: which room may import which, no cycles, how wide lines and how
 * long functions and files get, and nothing that is unused or does not belong under version control.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { temporaryFolder } from "./support/temporary-folder.ts";

const lineWidthMax = 120;
/** Titles and tables read better unbroken. */
const testLineWidthMax = 150;
const functionLinesMax = 70;
const fileLinesMax = 250;

/** Run from build/test. */
const root = fileURLToPath(new URL("../..", import.meta.url));

interface SourceFile {
  /** From the project's folder, with slashes. */
  readonly path: string;
  readonly lines: readonly string[];
  readonly imports: readonly Import[];
}

interface Import {
  readonly isTypeOnly: boolean;
  /** A path as in `path`, or `node:…`. */
  readonly target: string;
  readonly names: readonly string[];
}

const sources = readAll("src");
const tests = readAll("test");

/**
 * Every room, and every file at the root of src, from the bottom up, with the rooms and files that it may import. So
 * imports go downward only.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  base: [],
  disk: ["base"],
  log: ["disk", "base"],
  http: ["base"],
  limits: ["log", "disk", "base"],
  keys: ["limits", "log", "disk", "base"],
  pets: ["http", "base"],
  store: ["pets", "log", "disk", "base"],
  observe: ["http", "base"],
  openapi: ["pets", "limits", "http", "base"],
  request: ["observe", "pets", "keys", "limits", "http", "base"],
  "engine.ts": ["store", "observe", "pets", "keys", "limits", "log", "disk", "base"],
  postgres: ["engine.ts", "store", "pets", "keys", "limits", "log", "disk", "base"],
  "options.ts": ["postgres", "pets", "http", "base"],
  "service.ts": ["options.ts", "engine.ts", "postgres", "request", "observe", "openapi", "keys", "limits", "http", "log", "disk", "base"],
  "index.ts": ["service.ts", "options.ts", "postgres", "openapi", "store", "pets", "keys", "limits", "disk", "base"],
  cli: [
    ...["service.ts", "options.ts", "console-files", "postgres"],
    ...["observe", "store", "pets", "keys", "limits", "http", "log", "disk", "base"],
  ],
  "server.ts": ["cli"],
  console: [],
  "console-files": [],
};

const rootFilesMax = 6;

/** Modules with effects on the world outside, and the only rooms that may call them; types are free. */
const guardedModules: Readonly<Record<string, readonly string[]>> = {
  "node:http": ["http"],
  "node:fs": ["disk", "cli"],
  "node:fs/promises": ["disk"],
  "node:child_process": [],
  "node:worker_threads": [],
};

test("rooms import only from the rooms below them", () => {
  for (const { path, imports } of sources) {
    const room = roomOf(path);
    const allowed = rooms[room];
    assert.ok(allowed !== undefined, `${path} is in no room of this test`);
    for (const { target } of imports.filter((one) => one.target.startsWith("src/"))) {
      const place = target.slice("src/".length);
      const isAllowed = [room, ...allowed].some((other) => place === other || place.startsWith(`${other}/`));
      assert.ok(isAllowed, `${path} imports ${target}`);
    }
  }
});

test("the console runs in browsers: no module of the server imports it", () => {
  for (const { path, imports } of sources.filter((file) => roomOf(file.path) !== "console")) {
    assert.ok(!imports.some(({ target }) => target.startsWith("src/console/")), path);
  }
});

test(`at most ${rootFilesMax} files are at the root of src`, () => {
  const rootFiles = sources.filter(({ path }) => path.split("/").length === 2);
  assert.ok(rootFiles.length <= rootFilesMax, rootFiles.map(({ path }) => path).join(", "));
});

test("only disk and the command line use files, and only http uses node:http", () => {
  for (const { path, imports } of sources) {
    for (const { target, isTypeOnly } of imports) {
      const guards = guardedModules[target];
      const isAllowed = guards?.includes(roomOf(path)) ?? true;
      assert.ok(isTypeOnly || isAllowed, `${path} imports ${target}`);
    }
  }
});

test("nothing outside Node's standard library is imported", () => {
  for (const { path, imports } of [...sources, ...tests.filter(isOwnTest)]) {
    for (const { target } of imports) {
      const isKnown = target.startsWith("node:") || [...sources, ...tests].some((file) => file.path === target);
      assert.ok(isKnown || target === "animal-store", `${path} imports ${target}`);
    }
  }
});

test("the example of an embedder's store imports only the library's public face", () => {
  const example = tests.find(({ path }) => path === "test/store/example-store.ts");
  const ours = example?.imports.map(({ target }) => target).filter((target) => !target.startsWith("node:"));
  assert.deepEqual(ours, ["src/index.ts"]);
});

test("imports form no cycle", () => {
  const state = new Map<string, "open" | "done">();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.notEqual(state.get(path), "open", `cycle: ${[...trail, path].join(" -> ")}`);
    if (state.get(path) === "done") {
      return;
    }
    state.set(path, "open");
    const file = sources.find((one) => one.path === path);
    for (const { target } of file?.imports.filter((one) => one.target.startsWith("src/")) ?? []) {
      visit(target, [...trail, path]);
    }
    state.set(path, "done");
  };
  sources.forEach(({ path }) => visit(path, []));
});

test(`lines are at most ${lineWidthMax} columns wide, ${testLineWidthMax} in tests`, () => {
  for (const { path, lines } of [...sources, ...tests]) {
    const max = path.startsWith("src/") ? lineWidthMax : testLineWidthMax;
    const wide = lines.findIndex((line) => line.length > max);
    assert.equal(wide, -1, `${path}:${wide + 1} is wider`);
  }
});

test(`functions are at most ${functionLinesMax} lines long, files at most ${fileLinesMax}`, () => {
  for (const { path, lines } of sources) {
    assert.ok(lines.length <= fileLinesMax, `${path} has ${lines.length} lines`);
    lines.forEach((line, index) => {
      const indent = /^( *)(?!(?:if|for|while|switch|class|export class)\b).*(?:\)|=>)(?:: [^=]*)? \{$/.exec(line)?.[1];
      if (indent !== undefined) {
        const length = lines.slice(index).findIndex((later) => later.startsWith(`${indent}}`)) + 1;
        assert.ok(length <= functionLinesMax, `${path}:${index + 1} begins a function of ${length} lines`);
      }
    });
  }
});

test("every file says at its top what lives in it", () => {
  for (const { path, lines } of sources) {
    const start = lines[0]?.startsWith("#!") === true ? lines[1] : lines[0];
    assert.ok(start?.startsWith("/**"), `${path} begins without a comment`);
  }
});

test("every export is used somewhere else", () => {
  const used = new Set([...sources, ...tests].flatMap((file) => file.imports.flatMap((one) => one.names)));
  const face = new Set(["src/index.ts"]);
  for (const { path, lines } of sources.filter((file) => !face.has(file.path))) {
    for (const line of lines) {
      const name = /^export (?:async )?(?:function\*?|class|const|interface|type) (\w+)/.exec(line)?.[1];
      const isSignature = name !== undefined && lines.filter((other) => new RegExp(`\\b${name}\\b`).test(other)).length > 1;
      assert.ok(name === undefined || used.has(name) || isSignature, `${path} exports ${name}, which is not used`);
    }
  }
});

test("nothing is left behind: no marks to do later, no switched-off checks", () => {
  const words = ["TO" + "DO", "FIX" + "ME", "@ts-" + "ignore", "as a" + "ny", ": a" + "ny"];
  const marks = new RegExp(words.map((word) => `${word}\\b`).join("|"));
  for (const { path, lines } of [...sources, ...tests]) {
    lines.forEach((line, index) => assert.doesNotMatch(line, marks, `${path}:${index + 1}`));
  }
});

test("what a running service keeps in data/ is not under version control, the sample catalogue is", (context) => {
  const folder = temporaryFolder(context);
  const git = (...args: string[]): string => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
  git("init", "--quiet");
  copyFileSync(join(root, ".gitignore"), join(folder, ".gitignore"));
  const kept = ["keys.jsonl", "keys.jsonl.new", "pets.jsonl", "pets.jsonl.torn", "limits.json", "server.lock"];
  const paths = [...kept, "sample.jsonl"].map((name) => `data/${name}`);
  assert.deepEqual(git("check-ignore", ...paths).trimEnd().split("\n"), paths.slice(0, -1));
});

function roomOf(path: string): string {
  return path.slice("src/".length).split("/")[0] ?? "";
}

/** Benchmarks and outside judges have packages, and so imports, of their own. */
function isOwnTest({ path }: SourceFile): boolean {
  return !path.startsWith("test/bench/") && !path.startsWith("test/judges/");
}

/** What packages and generators have left is not checked. */
function readAll(folder: string): readonly SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/(^|[\\/])(node_modules|generated)[\\/]/.test(name))
    .map((name) => read(join(root, folder, name)));
}

function read(path: string): SourceFile {
  const text = readFileSync(path, "utf8");
  const statements = text.matchAll(/^(?:import|export) (type )?(?:([^;'"]*?) from )?"([^"]+)";/gm);
  const loads = text.matchAll(/(?:const \{ ([^}]*) \} = |\()await import\("([^"]+)"\)(?:\)\.(\w+))?/g);
  const found = [
    ...Array.from(statements, ([, type, names = "", target = ""]) => ({ type, names, target })),
    ...Array.from(loads, ([, names, target = "", name = ""]) => ({ type: undefined, names: names ?? name, target })),
  ];
  const imports = found.map(({ type, names, target }) => ({
    isTypeOnly: type !== undefined,
    target: target.startsWith(".") ? named(join(dirname(path), target)) : target,
    names: names.split(/[{},\s]+/).filter((name) => name !== "" && name !== "type"),
  }));
  const laterStatements = text.matchAll(/^ *const \{([^}]*)\} = await import\("([^"]+)"\);/gm);
  for (const [, names = "", target = ""] of laterStatements) {
    imports.push({ isTypeOnly: false, target: named(join(dirname(path), target)), names: names.split(/[,\s]+/) });
  }
  return { path: named(path), lines: text.split("\n").slice(0, -1), imports };
}

function named(path: string): string {
  return relative(root, path).split(sep).join("/");
}
