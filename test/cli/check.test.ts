/**
 * `check` and a start look at the same folder, whatever is wrong with it: they say the same, and `check` changes nothing.
 * What only another user meets is in refused-files.test.ts.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";

import { run } from "../../src/cli/run.ts";
import { start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { recordingTerminal, runHere } from "../support/terminal.ts";

let original = "";

before(async () => {
  original = mkdtempSync(join(tmpdir(), "animal-store-"));
  const data = join(original, "data");
  const animals = join(original, "animals.jsonl");
  writeFileSync(animals, '{"name":"Rex","categoryId":1}\n{"name":"Tom","categoryId":2}\n');
  // The second import begins another group, which proves that the first was synced.
  for (const args of [["import", animals], ["import", animals], ["keys", "create"], ["keys", "create"]]) {
    assert.equal((await runHere([...args, "--data", data])).code, 0);
  }
});

after(() => rmSync(original, { recursive: true, force: true }));

/** A folder of the test's own with four animals and two keys. */
function filledFolder(context: TestContext): string {
  const data = join(temporaryFolder(context), "data");
  cpSync(join(original, "data"), data, { recursive: true });
  return data;
}

interface Said {
  readonly code: number;
  readonly lines: readonly string[];
}

/** What a start with the folder says. One that succeeds is stopped as soon as it listens. */
async function started(data: string): Promise<Said> {
  const terminal = recordingTerminal();
  const stop = new AbortController();
  const listened = (lines: string): void => {
    terminal.stdout(lines);
    if (lines.startsWith("listening on ")) {
      stop.abort();
    }
  };
  const code = await run(["--port", "0", "--data", data], { ...terminal, stdout: listened }, () => stop.signal);
  return { code, lines: terminal.output().stderr.split("\n").filter((line) => line !== "" && !line.startsWith("stopp")) };
}

/** The names in a folder, if it is there, and everything about its files but when they were last read. */
function stateOf(folder: string): readonly string[] {
  return (existsSync(folder) ? readdirSync(folder) : []).sort().map((name) => {
    const stats = lstatSync(join(folder, name), { bigint: true });
    const { ino, mode, size, mtimeNs, ctimeNs } = stats;
    return [name, ino, mode, ...(stats.isFile() ? [size, mtimeNs, ctimeNs, readFileSync(join(folder, name), "latin1")] : [])].join(" ");
  });
}

test("check and start refuse the same flags and variables", async (context) => {
  const data = filledFolder(context);
  for (const [flags, environment, setting] of [
    [["--port", "abc"], {}, "--port abc"],
    [[], { ANIMAL_STORE_LOG: "loud" }, "ANIMAL_STORE_LOG=loud"],
    [["--base-url", "https://example.com"], {}, "--base-url https://example.com"],
  ] as const) {
    for (const command of [["check"], []]) {
      const refused = await runHere([...command, "--data", data, ...flags], environment);
      assert.deepEqual([refused.code, refused.stdout], [2, ""]);
      assert.ok(refused.stderr.startsWith(`Cannot use ${setting}: must be `), refused.stderr);
    }
  }
  assert.equal((await runHere(["check", "--data", data, "--port", "0", "--log", "off"])).code, 0);
});

/** Does something to a folder. Returns another one to look at, if any. */
type Damage = (data: string, path: (name: string) => string) => string | void;

function changed(name: string, change: (content: string) => string): Damage {
  return (_, path) => writeFileSync(path(name), change(readFileSync(path(name), "latin1")), "latin1");
}

function linked(name: string, place: string): Damage {
  return (data, path) => {
    rmSync(path(name), { recursive: true, force: true });
    mkdirSync(join(data, "../there"));
    symlinkSync(join(data, "..", place, "target"), path(name));
  };
}

const piped = (name: string): Damage => (_, path) => {
  rmSync(path(name), { force: true });
  assert.equal(spawnSync("mkfifo", [path(name)]).status, 0);
};

const damages: Readonly<Record<string, Damage>> = {
  "nothing": () => undefined,
  "no folder": (data) => join(data, "deep/new"),
  "an empty folder": (data) => (mkdirSync(join(data, "new")), join(data, "new")),
  "a folder that is a file": (_, path) => path("pets.jsonl"),
  "a folder in a device": () => "/dev/null/data",
  "an unfinished export": (_, path) => writeFileSync(path("export.unfinished"), ""),
  "animals changed": changed("pets.jsonl", (text) => text.replace("Rex", "Max")),
  "animals with a line twice": changed("pets.jsonl", (text) => text + text),
  "animals torn": changed("pets.jsonl", (text) => text.slice(0, -9)),
  "animals torn, no place for the torn end": (data, path) => {
    changed("pets.jsonl", (text) => text.slice(0, -9))(data, path);
    mkdirSync(path("pets.jsonl.torn"));
  },
  "animals gone": (_, path) => rmSync(path("pets.jsonl")),
  "keys changed": changed("keys.jsonl", (text) => text.replace("made", "mode")),
  "keys torn": changed("keys.jsonl", (text) => text.slice(0, -9)),
  "keys and animals torn": (data, path) => {
    ["keys.jsonl", "pets.jsonl"].forEach((name) => changed(name, (text) => text.slice(0, -9))(data, path));
  },
  "keys empty": changed("keys.jsonl", () => ""),
  "keys gone": (_, path) => rmSync(path("keys.jsonl")),
  "keys a folder": (_, path) => (rmSync(path("keys.jsonl")), mkdirSync(path("keys.jsonl"))),
  "limits damaged": (_, path) => writeFileSync(path("limits.json"), "{}\n"),
  "limits a folder": (_, path) => mkdirSync(path("limits.json")),
  "the lock a file": (_, path) => writeFileSync(path("server.lock"), ""),
  "the lock a folder": (_, path) => mkdirSync(path("server.lock")),
  "the lock a link to nothing": (_, path) => symlinkSync("/nowhere/x", path("server.lock")),
  ...Object.fromEntries(["", "pets.jsonl", "keys.jsonl", "limits.json"].flatMap((name) => {
    const places = name === "keys.jsonl" ? ["there"] : ["there", "nowhere"]; // check makes no first key.
    return places.map((place) => [`${name || "the folder"} a link to no file ${place}`, linked(name, place)]);
  })),
  ...Object.fromEntries(["pets.jsonl", "keys.jsonl", "limits.json"].map((name) => [`${name} a named pipe`, piped(name)])),
};

/** Root follows no link to a file. */
const links = Object.keys(damages).filter((name) => process.getuid?.() === 0 && /^(pets|keys|limits).* a link/.test(name));

/** Why a start refuses the folder. With all others it serves. */
const refusals: Readonly<Record<string, RegExp>> = {
  "a folder that is a file": /is not a folder, nor a link to one$/,
  "a folder in a device": /^ENOTDIR: /,
  "an unfinished export": /an export or a salvage into it was not finished/,
  "animals changed": /pets\.jsonl is damaged at line 1, byte 0: /,
  "animals with a line twice": /pets\.jsonl is damaged at line 5, byte \d+: /,
  "animals torn, no place for the torn end": /cannot be moved to \S+pets\.jsonl\.torn \(EISDIR: .*\); nothing is lost: .*$/,
  "keys changed": /keys\.jsonl is damaged at line 1, byte 0: /,
  "keys a folder": /EISDIR: .*keys\.jsonl/,
  "limits a folder": /limits\.json: EISDIR: /,
  "the lock a file": /server\.lock: it is not a socket$/,
  "the lock a folder": /server\.lock: it is not a socket$/,
  "the lock a link to nothing": /server\.lock: it is not a socket$/,
  "the folder a link to no file there": /is not a folder, nor a link to one$/,
  "the folder a link to no file nowhere": /is not a folder, nor a link to one$/,
  "pets.jsonl a link to no file nowhere": /ENOENT: .*pets\.jsonl/,
  "pets.jsonl a named pipe": /pets\.jsonl is a named pipe or a device, not a file$/,
  "keys.jsonl a named pipe": /keys\.jsonl is a named pipe or a device, not a file$/,
  "limits.json a named pipe": /limits\.json is a named pipe or a device, not a file$/,
  ...Object.fromEntries(links.map((name) => [name, /is a link, which root does not follow$/])),
};

for (const [name, damage] of Object.entries(damages)) {
  test(`check says what a start says, and changes nothing: ${name}`, { timeout: 20_000 }, async (context) => {
    const filled = filledFolder(context);
    const data = damage(filled, (file) => join(filled, file)) ?? filled;
    const before = [filled, join(filled, "..")].map(stateOf);
    const { code, stdout, stderr } = await runHere(["check", "--data", data]);
    assert.deepEqual([filled, join(filled, "..")].map(stateOf), before);
    const said = stdout.trimEnd().split("\n");
    const start = await started(data);
    const about = `check says:\n${stdout}a start says:\n${start.lines.join("\n")}`;
    const [reason = "", verdict] = said.slice(-2);
    assert.match(reason, refusals[name] ?? /^\S+ has \d animals, \d keys?(; a start would make the first key)?$/, about);
    assert.equal(start.code === 0, refusals[name] === undefined, about);
    assert.deepEqual([stderr, code, verdict], start.code === 0
      ? ["", 0, "the server would start"]
      : ["", 1, "the server would not start"], about);
    if (start.code !== 0) {
      assert.ok(start.lines.at(-1)?.includes(reason), about);
      assert.equal(start.lines.at(-1)?.endsWith("; see check --help"), /damaged at line \d+, byte \d+/.test(reason), about);
    }
    const reports = said.flatMap((line) => /^a start says: (.*)$/.exec(line)?.[1] ?? []);
    assert.deepEqual(reports, start.code === 0 ? start.lines : start.lines.slice(0, -1), about);
  });
}

test("check and a start refuse a folder in /proc, where none can be made", async () => {
  const { code, stdout } = await runHere(["check", "--data", "/proc/nothing"]);
  assert.deepEqual([code, (await started("/proc/nothing")).code], [1, 2]);
  assert.match(stdout, /^(the folder \/proc cannot be used: E\w+; .*|user \w+ is refused \/proc \(.*\))\nthe server would not start\n$/);
});

test("check beside a server changes nothing, and does not report writes under way as damage", async (context) => {
  const data = filledFolder(context);
  const program = await start(context, ["--data", data]);
  appendFileSync(join(data, "pets.jsonl"), '{"id":5,"na');
  appendFileSync(join(data, "keys.jsonl"), '{"event":"ma');
  const stateBefore = stateOf(data);
  const checked = await runHere(["check", "--data", data]);
  assert.deepEqual(stateOf(data), stateBefore);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /has 4 animals, 2 keys; a running service uses it, and may be writing now\nthe server would start\n$/);
  assert.equal(await program.stop(), 0);
});
