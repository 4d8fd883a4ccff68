import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { runKeysCommand } from "../../src/cli/keys-command.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { ask, KeyFolder } from "../support/key-folder.ts";

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs `keys` with the folder as its default. */
async function keys(folder: KeyFolder, ...args: readonly string[]): Promise<Outcome> {
  let [out, error] = ["", ""];
  const code = await runKeysCommand(args, {
    dataDir: folder.path,
    version: "1.2.3",
    disk: nodeDisk,
    clock: folder.clock,
    randomBytes: folder.randomBytes,
    writeOut: (text) => (out += text),
    writeError: (text) => (error += text),
  });
  return { code, out, error };
}

/** Makes a key, and returns its id and its secret. */
async function create(folder: KeyFolder, ...args: readonly string[]): Promise<{ id: string; key: string }> {
  const { code, out, error } = await keys(folder, "create", ...args);
  assert.equal(code, 0, error);
  return { id: /key_\w{15}/.exec(error)?.[0] ?? "", key: out.trimEnd() };
}

test("keys create prints the key alone on standard output, and its id on standard error", async (context) => {
  const folder = await KeyFolder.make(context);
  const { code, out, error } = await keys(folder, "create");
  assert.equal(code, 0);
  assert.match(out, /^as_[0-9A-Za-z]{43}\n$/);
  assert.match(error, /^made key_[0-9A-Za-z]{15}; the key itself is shown only now\n$/);
  assert.ok(error.includes(ask(await folder.open(), out.trimEnd())));
});

test("keys create takes each flag as --flag value and as --flag=value", async (context) => {
  const folder = await KeyFolder.make(context);
  const values = [
    ["plan", "enterprise"], ["per-minute", "5"], ["per-day", "7"], ["label", "a=b --c"], ["expires", "2027-01-31"],
  ] as const;
  await create(folder, ...values.flatMap(([name, value]) => [`--${name}`, value]));
  await create(folder, ...values.map(([name, value]) => `--${name}=${value}`));
  for (const key of await (await folder.open()).list()) {
    assert.deepEqual(key.plan, { name: "enterprise", quota: { perMinute: 5, perDay: 7 } });
    assert.deepEqual([key.label, key.expiresMs], ["a=b --c", Date.UTC(2027, 0, 31)]);
  }
});

test("keys --data names another folder", async (context) => {
  const folder = await KeyFolder.make(context);
  const dataDir = join(folder.path, "other");
  await create(folder, "--data", dataDir);
  assert.equal((await keys(folder, "list")).out, "");
  assert.match((await keys(folder, "list", `--data=${dataDir}`)).out, /^key_/);
});

test("keys list prints an aligned line for each key, its id first, with its state", async (context) => {
  const folder = await KeyFolder.make(context);
  const active = await create(folder, "--label", "the shop");
  const rotated = await create(folder, "--plan", "business");
  const expired = await create(folder, "--expires", "2026-11-21T12:00:30Z");
  const revoked = await create(folder, "--plan=enterprise", "--per-minute=5", "--per-day=7");
  await keys(folder, "rotate", rotated.id, "--grace", "60");
  await keys(folder, "revoke", revoked.id);
  folder.clock.advance(30_000);
  const { code, out, error } = await keys(folder, "list");
  const made = "2026-11-21T12:00:00Z";
  assert.deepEqual([code, error], [0, ""]);
  assert.deepEqual(out.split("\n"), [
    `${active.id}  active   free        60/min,1000/day      ${made}  never                 the shop`,
    `${rotated.id}  rotated  business    1000/min,100000/day  ${made}  never                 -`,
    `${expired.id}  expired  free        60/min,1000/day      ${made}  2026-11-21T12:00:30Z  -`,
    `${revoked.id}  revoked  enterprise  5/min,7/day          ${made}  never                 -`,
    "",
  ]);
});

test("keys list prints nothing where there is no key", async (context) => {
  const folder = await KeyFolder.make(context);
  assert.deepEqual(await keys(folder, "list"), { code: 0, out: "", error: "" });
  assert.deepEqual(await readdir(folder.path), []);
});

test("keys revoke, plan and unban do what they say, and say nothing", async (context) => {
  const folder = await KeyFolder.make(context);
  const { id, key } = await create(folder);
  const store = await folder.open();
  for (const args of [["plan", id, "--plan", "pro"], ["unban", id], ["revoke", id], ["revoke", id]]) {
    assert.deepEqual(await keys(folder, ...args), { code: 0, out: "", error: "" }, args.join(" "));
  }
  await store.follow();
  assert.equal(store.keyring.get(id)?.plan.name, "pro");
  assert.deepEqual(folder.unbanned, [id]);
  assert.equal(ask(store, key), "invalid");
});

test("keys rotate prints the new key alone, and the old one works for the grace", async (context) => {
  const folder = await KeyFolder.make(context);
  const { id, key } = await create(folder);
  const { code, out, error } = await keys(folder, "rotate", "--grace=60", id);
  assert.deepEqual([code, error], [0, `rotated ${id}; the key itself is shown only now\n`]);
  assert.match(out, /^as_[0-9A-Za-z]{43}\n$/);
  const store = await folder.open();
  assert.deepEqual([ask(store, key), ask(store, out.trimEnd())], [id, id]);
  folder.clock.advance(60_000);
  assert.deepEqual([ask(store, key), ask(store, out.trimEnd())], ["invalid", id]);
});

const misuses: readonly (readonly [args: readonly string[], error: RegExp])[] = [
  [[], /^Cannot run keys: must be one of create, list, revoke, plan, rotate, unban; see keys --help$/],
  [["remove"], /must be one of/],
  [["--plan", "pro"], /must be one of/],
  [["create", "x"], /^Cannot run keys create: it takes flags only; see keys create --help$/],
  [["create", "--grace", "5"], /^Cannot run keys create: unknown flag --grace; /],
  [["create", "--plans=pro"], /unknown flag --plans; /],
  [["create", "-p"], /unknown flag -p; /],
  [["create", "--plan"], /--plan needs a value/],
  [["create", "--plan", "pro", "--plan=pro"], /--plan is given twice/],
  [["create", "--plan", "gold"], /^Cannot use plan "gold": must be one of free, pro, business, enterprise$/],
  [["create", "--plan", ""], /^Cannot use plan "": /],
  [["create", "--per-minute", "5", "--per-day", "7"], /^Cannot set the quota of plan "free": /],
  [["create", "--plan", "enterprise", "--per-minute", "5"], /perDay must be an integer .* received nothing$/],
  [["create", "--plan", "enterprise", "--per-minute", "0", "--per-day", "7"], /perMinute must be .* received 0$/],
  [["create", "--per-minute", "5.5"], /^Cannot use --per-minute: must be a whole number in digits, received "5.5"$/],
  [["create", "--per-day=-5"], /^Cannot use --per-day: /],
  [["create", "--per-day="], /^Cannot use --per-day: /],
  [["create", "--label", "x".repeat(65)], /^Cannot label key: a label is at most 64 printable characters, /],
  [["create", "--label", "a\nb"], /^Cannot label key: .* received "a\\nb"$/],
  [["create", "--expires", "soon"], /^Cannot set expiry: must be a date such as /],
  [["create", "--expires", "2026-11-21"], /^Cannot set expiry: must be in the future, received "2026-11-21"$/],
  [["create", "--data="], /^Cannot use --data: must name a folder$/],
  [["list", "x"], /it takes flags only/],
  [["revoke"], /^Cannot run keys revoke: it takes one ID, received 0; /],
  [["revoke", "a", "b"], /it takes one ID, received 2; /],
  [["plan", "key_000000000000000"], /^Cannot run keys plan: --plan is missing; /],
  [["rotate", "key_000000000000000", "--grace", "1h"], /^Cannot use --grace: must be .*, received "1h"$/],
  [["rotate", "key_000000000000000", "--grace", "31536001"], /^Cannot rotate key: grace must be .* 31536001$/],
];

for (const [args, message] of misuses) {
  test(`keys ${JSON.stringify(args)} is wrong usage: one line, exit code 2, nothing written`, async (context) => {
    const folder = await KeyFolder.make(context);
    const { code, out, error } = await keys(folder, ...args);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(error, /^[^\n]+\n$/);
    assert.match(error.trimEnd(), message);
    assert.deepEqual(await readdir(folder.path), []);
  });
}

test("keys revoke, plan, rotate and unban of a key that is not there exit with 1 and one line", async (context) => {
  const folder = await KeyFolder.make(context);
  const id = "key_000000000000000";
  for (const args of [["revoke", id], ["plan", id, "--plan", "pro"], ["rotate", id], ["unban", id]]) {
    const { code, out, error } = await keys(folder, ...args);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, /^Cannot \w+ key: no key has the id "key_000000000000000"\n$/);
  }
});

test("keys exits with 1 and one line where the file is damaged or the folder cannot be used", async (context) => {
  const folder = await KeyFolder.make(context);
  await create(folder);
  await folder.overwrite(`{"broken":1}\n${await folder.content()}`);
  for (const args of [["create"], ["list"], ["list", "--data", folder.file], ["create", "--data", folder.file]]) {
    const { code, out, error } = await keys(folder, ...args);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, /^[^\n]+\n$/);
  }
});

test("keys --help works everywhere, names every flag, and does nothing", async (context) => {
  const folder = await KeyFolder.make(context);
  const flags: Readonly<Record<string, readonly string[]>> = {
    create: ["--plan", "--per-minute", "--per-day", "--label", "--expires", "--data"],
    list: ["--data"],
    revoke: ["--data"],
    plan: ["--plan", "--per-minute", "--per-day", "--data"],
    rotate: ["--grace", "--data"],
    unban: ["--data"],
  };
  const overview = await keys(folder, "--help");
  for (const [command, names] of Object.entries(flags)) {
    assert.ok(overview.out.includes(`  ${command} `), command);
    const { code, out, error } = await keys(folder, command, "--nonsense", "--help");
    assert.deepEqual([code, error], [0, ""]);
    assert.ok(out.startsWith(`Usage: keys ${command} `), command);
    assert.deepEqual(names.filter((name) => !out.includes(`  ${name} `)), []);
    assert.deepEqual(await keys(folder, command, "-h"), { code, out, error });
  }
  assert.deepEqual(await readdir(folder.path), []);
});

test("keys --version prints the version, behind a command too", async (context) => {
  const folder = await KeyFolder.make(context);
  for (const args of [["--version"], ["create", "--version"]]) {
    assert.deepEqual(await keys(folder, ...args), { code: 0, out: "1.2.3\n", error: "" });
  }
});

test("keys shows a secret in the one line that makes it, and in no list, error or file", async (context) => {
  const folder = await KeyFolder.make(context);
  const first = await create(folder, "--label", "shop");
  const second = { id: first.id, key: (await keys(folder, "rotate", first.id, "--grace", "9")).out.trimEnd() };
  const outcomes: Outcome[] = [];
  for (const { id, key } of [first, second]) {
    for (const command of ["revoke", "plan", "rotate", "unban", "create", "list"]) {
      outcomes.push(await keys(folder, command, key), await keys(folder, command, id, key, "--plan", "pro"));
    }
    outcomes.push(await keys(folder, key), await keys(folder, "create", "--label", key), await keys(folder, "list"));
    outcomes.push(await keys(folder, "plan", key, "--plan", "pro"), await keys(folder, "create", "--expires", key));
    outcomes.push(await keys(folder, "create", "--plan", key), await keys(folder, "rotate", id, "--grace", key));
    outcomes.push(await keys(folder, "create", "--data", join(folder.path, "x"), `--${key}`));
  }
  const texts = outcomes.map(({ out, error }) => `${out}${error}`);
  const names = await readdir(folder.path);
  texts.push(...names, ...(await Promise.all(names.map((name) => readFile(join(folder.path, name), "latin1")))));
  for (const { key } of [first, second]) {
    assert.deepEqual(texts.filter((text) => text.includes(key.slice("as_".length))), []);
  }
});
