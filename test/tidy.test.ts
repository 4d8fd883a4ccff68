/**
 * Style, kept by an ordinary test instead of a linter: which module may import which, no circles, no dead files, how wide
 * lines and how long functions and files get, and which data are under version control.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { test } from "node:test";

import { root } from "./support/root.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const lineWidthMax = 120;
/** Titles and tables read better unbroken. */
const testLineWidthMax = 150;
const functionLinesMax = 70;
const fileLinesMax = 400;
/** A page loads it alone, so it cannot be divided. */
const clientLinesMax = 460;

interface SourceFile {
  /** From the project's folder, with slashes. */
  readonly path: string;
  readonly lines: readonly string[];
  /** Paths as in `path`, or `node:…`. */
  readonly imports: readonly { readonly isTypeOnly: boolean; readonly target: string }[];
}

const sources = readAll("src");
const tests = readAll("test");

const rootFilesMax = 8;

/**
 * Every module, and every file at the root of src, from the bottom up, with the modules and files that it may import. So
 * imports go downward only.
 */
const modules: Readonly<Record<string, readonly string[]>> = {
  base: [],
  http: ["base"],
  wire: ["http", "base"],
  pets: ["base"],
  limits: ["base"],
  keys: ["limits", "base"],
  disk: ["base"],
  tls: ["disk", "base"],
  log: ["disk", "base"],
  store: ["log", "disk", "pets", "base"],
  observe: ["base"],
  client: ["pets", "http"],
  request: ["client", "observe", "keys", "limits", "pets", "http", "base"],
  openapi: ["request", "limits", "pets", "http", "base"],
  "engine.ts": ["observe", "keys", "limits", "pets"],
  postgres: ["engine.ts", "keys", "limits", "pets", "base"],
  folder: ["engine.ts", "store", "log", "disk", "keys", "limits", "pets", "base"],
  transfer: ["folder", "postgres", "store", "log", "disk", "keys", "limits", "pets", "base"],
  "options.ts": ["postgres", "base"],
  "service.ts": [
    ...["options.ts", "folder", "postgres", "engine.ts", "openapi", "request", "client", "observe"],
    ...["log", "disk", "keys", "limits", "pets", "wire", "http", "base"],
  ],
  "index.ts": [
    ...["service.ts", "options.ts", "postgres", "openapi", "client"],
    ...["store", "disk", "keys", "limits", "http"],
  ],
  cli: [
    ...["service.ts", "options.ts", "transfer", "folder", "postgres", "observe", "store", "disk"],
    ...["keys", "limits", "pets", "tls", "wire", "http", "base"],
  ],
  "server.ts": ["cli"],
  console: [],
};

/** Modules with effects on the world outside, and the only ones that may call them; types are free. */
const guardedModules: Readonly<Record<string, readonly string[]>> = {
  "node:http": ["wire", "http"],
  "node:https": ["wire"],
  "node:fs": ["disk", "cli"],
  "node:fs/promises": ["disk"],
  "node:child_process": [],
  "node:worker_threads": [],
};

test("modules import only from the modules below them", () => {
  for (const { path, imports } of sources) {
    const allowed = [moduleOf(path), ...(modules[moduleOf(path)] ?? assert.fail(`${path} is in no module of this test`))];
    for (const { target } of imports.filter((one) => one.target.startsWith("src/"))) {
      assert.ok(allowed.includes(moduleOf(target)), `${path} imports ${target}`);
    }
  }
});

test(`at most ${rootFilesMax} files are in no folder of src`, () => {
  const rootFiles = sources.map(({ path }) => path).filter((path) => path.split("/").length === 2);
  assert.ok(rootFiles.length <= rootFilesMax, rootFiles.join());
});

test("modules use every right to import that they have", () => {
  const used = new Set(
    sources.flatMap(({ path, imports }) => imports.map(({ target }) => `${moduleOf(path)} -> ${moduleOf(target)}`)),
  );
  const rights = Object.entries(modules).flatMap(([module, allowed]) => allowed.map((other) => `${module} -> ${other}`));
  assert.deepEqual(rights.filter((right) => !used.has(right)), []);
});

/** A page loads the client as one file. */
test("the client imports nothing but types", () => {
  const imports = sources.filter(({ path }) => moduleOf(path) === "client").flatMap((file) => file.imports);
  assert.deepEqual(imports.filter(({ isTypeOnly }) => !isTypeOnly), []);
});

/** What runs first: all other code in src is imported from there. */
const entryPoints = [
  ...["src/server.ts", "src/index.ts", "src/client/client.ts", "src/console/main.ts"],
];

test("src has no dead file: each leads back to an entry point", () => {
  const alive = new Set(entryPoints);
  for (const path of alive) { // A set yields what is added meanwhile.
    const file = sources.find((one) => one.path === path) ?? assert.fail(`${path} does not exist`);
    file.imports.filter(({ target }) => target.startsWith("src/")).forEach(({ target }) => alive.add(target));
  }
  assert.deepEqual(sources.map(({ path }) => path).filter((path) => !alive.has(path)), []);
});

test("neither test nor the recipes have a dead file: each is a test, is found by its tool, or is named by another file", () => {
  const paths = [...listAll("test"), ...listAll("src/manual/recipes")];
  const texts = [...listAll("test"), ...listAll("src"), "package.json", "README.md", ".ci/run"]
    .filter((path) => /\.(ts|js|md|json|yaml|conf)$|run$|Dockerfile$/.test(path) && !path.endsWith("package-lock.json"))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  const foundByTools = /\.test\.[jt]s$|\/(package(-lock)?|tsconfig)\.json$|\.go$/;
  for (const path of paths.filter((one) => !foundByTools.test(one))) {
    const name = basename(path).replace(/\.\w+$/, "").replaceAll(".", "\\.");
    const naming = new RegExp(`(?<![\\w-])${name}(?![\\w-])`);
    assert.ok(texts.some((other) => other.path !== path && naming.test(other.text)), `nothing names ${path}`);
  }
});

test("only disk and the command line use files, and only wire uses node:http, but for the tables in http", () => {
  for (const { path, imports } of sources) {
    for (const { target, isTypeOnly } of imports) {
      const isAllowed = guardedModules[target]?.includes(moduleOf(path)) ?? true;
      assert.ok(isTypeOnly || isAllowed, `${path} imports ${target}`);
    }
  }
});

/** What only a start or a command does, before it serves or instead of it, and what a process does at its end. */
const filesOfStarts: Readonly<Record<string, readonly string[]>> = {
  "src/cli/console-pages.ts": ["readFileSync", "readdirSync"],
  "src/cli/import.ts": ["fstatSync", "realpathSync", "statSync"],
  "src/cli/output.ts": ["fstatSync", "openSync", "writeSync"],
  "src/cli/salvage.ts": ["readdirSync"],
  "src/cli/serve.ts": ["readFileSync"],
  "src/cli/terminal.ts": ["closeSync", "fstatSync"],
};

test("nothing waits for a file on the main thread while the service runs", () => {
  for (const { path, lines } of sources) {
    const called = lines.flatMap((line) => Array.from(line.matchAll(/\b[a-z]\w+Sync(?=\()/g), ([name]) => name));
    assert.deepEqual([...new Set(called)].sort(), filesOfStarts[path] ?? [], path);
  }
});

/** The console and the client run in browsers. */
test("timers are those of node:timers, because test frameworks replace the globals", () => {
  for (const { path, lines } of sources.filter((file) => !["console", "client"].includes(moduleOf(file.path)))) {
    const imported = lines.filter((line) => /^import .* from "node:(timers|timers\/promises|perf_hooks)";/.test(line)).join();
    const code = lines.filter((line) => !/^\s*\/?\*/.test(line)).map((line) => line.replace(/\/\/ .*$/, "")).join("\n");
    for (const [name] of code.matchAll(/(?<![.\w])(?:(?:set|clear)(?:Timeout|Interval|Immediate)|performance)(?=[.(])/g)) {
      assert.ok(imported.includes(name), `${path} uses the global ${name}`);
    }
  }
});

test("imports form no circle", () => {
  const state = new Map<string, "open" | "done">();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.notEqual(state.get(path), "open", `circle: ${[...trail, path].join(" -> ")}`);
    if (state.get(path) === undefined) {
      state.set(path, "open");
      const file = sources.find((one) => one.path === path);
      file?.imports.forEach(({ target }) => visit(target, [...trail, path]));
      state.set(path, "done");
    }
  };
  sources.forEach(({ path }) => visit(path, []));
});

test("comments and pages of src name only files that exist", () => {
  const names = [...listAll("src"), ...listAll("test"), ".ci/run"];
  const isThere = (name: string): boolean => names.some((path) => path === name || path.endsWith(`/${name}`));
  const texts = [
    ...sources.map(({ path, lines }) => ({ path, text: lines.filter((line) => /^\s*(\/?\*|\/\/)|\s\/\/ /.test(line)).join("\n") })),
    ...listAll("src").filter((path) => path.endsWith(".md")).map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })),
  ];
  for (const { path, text } of texts) {
    for (const [name] of text.matchAll(/(?<![\w./-])(?!\/|dist\/|build\/|Node\.)[\w/-]+(?:\.test)?\.(?:ts|js|css|html)\b(?!\w)/g)) {
      assert.ok(isThere(name), `${path} names ${name}`);
    }
  }
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
    const max = path === "src/client/client.ts" ? clientLinesMax : fileLinesMax;
    assert.ok(lines.length <= max, `${path} has ${lines.length} lines`);
    lines.forEach((line, index) => {
      const indent = /^( *)(?!(?:if|for|while|switch|class|export class)\b).*(?:\)|=>)(?:: [^=]*)? \{$/.exec(line)?.[1];
      if (indent !== undefined) {
        const length = lines.slice(index).findIndex((later) => later.startsWith(`${indent}}`)) + 1;
        assert.ok(length <= functionLinesMax, `${path}:${index + 1} begins a function of ${length} lines`);
      }
    });
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

function moduleOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function readAll(folder: string): readonly SourceFile[] {
  return listAll(folder).filter((path) => path.endsWith(".ts")).map((path) => read(join(root, path)));
}

/** All files, but not what packages and generators have left. */
function listAll(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => named(join(entry.parentPath, entry.name)))
    .filter((path) => !/\/(node_modules|generated)\//.test(path));
}

function read(path: string): SourceFile {
  const text = readFileSync(path, "utf8");
  const statements = text.matchAll(/^(?:import|export) (type )?(?:[^;'"]* from )?"([^"]+)";|\bimport\("([^"]+)"\)/gm);
  const imports = Array.from(statements, ([, type, target = "", loaded = target]) => ({
    isTypeOnly: type !== undefined,
    target: loaded.startsWith(".") ? named(join(dirname(path), loaded)) : loaded,
  }));
  return { path: named(path), lines: text.split("\n").slice(0, -1), imports };
}

function named(path: string): string {
  return relative(root, path).split(sep).join("/");
}
