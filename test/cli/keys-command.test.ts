import assert from "node:assert/strict";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { withoutSecrets } from "../../src/base/redact-secrets.ts";
import { keys as runKeys } from "../../src/cli/keys.ts";
import { UsageError } from "../../src/cli/parse-flags.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openLimitsFile } from "../../src/folder/limits-file.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { checkOptions } from "../../src/options.ts";
import { openService } from "../../src/service.ts";
import { ask, KeyFolder } from "../support/key-folder.ts";
import { recordingTerminal, runHere } from "../support/terminal.ts";

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs `keys` with the folder as its default, and the clock and random numbers of the test. */
async function keys(folder: KeyFolder, ...args: readonly string[]): Promise<Outcome> {
  const terminal = recordingTerminal({ ANIMAL_STORE_DATA: folder.path });
  const { clock, randomBytes } = folder;
  try {
    const code = await runKeys(args, terminal, { disk: nodeDisk, clock, randomBytes });
    const { stdout, stderr } = terminal.output();
    return { code, out: stdout, error: stderr };
  } catch (error) {
    assert.ok(error instanceof Error);
    const { stdout, stderr } = terminal.output();
    return { code: error instanceof UsageError ? 2 : 1, out: stdout, error: `${stderr}${withoutSecrets(error.message)}\n` };
  }
}

/** Makes a key, and returns its id and its secret. */
async function create(folder: KeyFolder, ...args: readonly string[]): Promise<{ id: string; key: string }> {
  const { code, out, error } = await keys(folder, "create", ...args);
  assert.equal(code, 0, error);
  return { id: /key_\w{15}/.exec(error)?.[0] ?? "", key: out.trimEnd() };
}

test("keys create prints the key alone on standard output, and its id on standard error", async (context) => {
  const folder = new KeyFolder(context);
  const { code, out, error } = await keys(folder, "create");
  assert.equal(code, 0);
  assert.match(out, /^as_[0-9A-Za-z]{43}\n$/);
  assert.match(error, /^made key_[0-9A-Za-z]{15} in \/.*; the key itself is shown only once\n$/);
  assert.ok(error.includes(ask(await folder.open(), out.trimEnd())));
});

test("keys create takes each flag as --flag value and as --flag=value", async (context) => {
  const folder = new KeyFolder(context);
  const values = [
    ["plan", "enterprise"], ["per-minute", "5"], ["per-day", "7"], ["label", "a=b --c"], ["expires", "2027-01-31"],
  ] as const;
  await create(folder, ...values.flatMap(([name, value]) => [`--${name}`, value]));
  await create(folder, ...values.map(([name, value]) => `--${name}=${value}`));
  for (const key of (await folder.open()).keyring.list()) {
    assert.deepEqual(key.plan, { name: "enterprise", perMinute: 5, perDay: 7 });
    assert.deepEqual([key.label, key.expiresMs], ["a=b --c", Date.UTC(2027, 0, 31)]);
  }
});

test("keys list prints heads and an aligned line for each key, its id first, with its state", async (context) => {
  const folder = new KeyFolder(context);
  const active = await create(folder, "--label", "the shop");
  const rotated = await create(folder, "--plan", "business", "--read-only");
  const expired = await create(folder, "--expires", "2026-11-21T12:00:30Z");
  const revoked = await create(folder, "--plan=enterprise", "--per-minute=5", "--per-day=7");
  await keys(folder, "rotate", rotated.id, "--grace", "60");
  await keys(folder, "revoke", revoked.id);
  folder.clock.advance(30_000);
  const { code, out, error } = await keys(folder, "list");
  const made = "2026-11-21T12:00:00Z";
  assert.deepEqual([code, error], [0, ""]);
  const [heads = "", ...lines] = out.split("\n");
  assert.match(heads, /^ID +STATE +PLAN +ACCESS +USED A MINUTE +USED A DAY +BANNED UNTIL +LAST REQUEST +CREATED +EXPIRES +LABEL$/);
  for (const [index, column] of heads.split(/ {2,}/).entries()) {
    const at = heads.indexOf(column); // Where each cell begins.
    assert.ok(lines.slice(0, -1).every((line) => index === 0 || line.slice(at - 2, at) === "  "), column);
  }
  assert.deepEqual(lines.map((line) => line.split(/ {2,}/)), [
    [active.id, "active", "free", "full access", "0 of 60", "0 of 1000", "-", "-", made, "never", "the shop"],
    [rotated.id, "active", "business", "read-only", "0 of 1000", "0 of 100000", "-", "-", made, "never", "-"],
    [expired.id, "expired", "free", "full access", "0 of 60", "0 of 1000", "-", "-", made, "2026-11-21T12:00:30Z", "-"],
    [revoked.id, "revoked", "enterprise", "full access", "0 of 5", "0 of 7", "-", "-", made, "never", "-"],
    [""],
  ]);
  const listed = (await keys(folder, "list", "--json")).out.trimEnd().split("\n").map((line) => JSON.parse(line) as unknown);
  const graceUntil = listed.map((key) => (key as { graceUntil: unknown }).graceUntil);
  assert.deepEqual(graceUntil, [null, "2026-11-21T12:01:00Z", null, null]);
});

test("keys list shows the requests used and the end of a ban, as the server saved them", async (context) => {
  const folder = new KeyFolder(context);
  const { clock, path: dataDir } = folder;
  const { id } = await create(folder, "--plan=enterprise", "--per-minute=2", "--per-day=7", "--label", "shop");
  const [plan] = (await folder.open()).keyring.list().map((key) => key.plan);
  assert.ok(plan !== undefined);
  const limiter = new MemoryLimiter({ clock });
  for (let count = 0; count < 12; count++) {
    limiter.take(id, plan);
    clock.advance(1_000);
  }
  const lock = { isInPlace: async () => true };
  await (await openLimitsFile({ disk: nodeDisk, dataDir, lock, limiter, report: assert.fail })).save();
  const listed = (await keys(folder, "list")).out.split("\n")[1]?.split(/ {2,}/) ?? [];
  const times = ["2026-11-21T12:05:11Z", "2026-11-21T12:00:11Z"];
  assert.deepEqual(listed.slice(1, 8), ["banned", "enterprise", "full access", "2 of 2", "2 of 7", ...times]);
  assert.deepEqual(JSON.parse((await keys(folder, "list", "--json")).out), {
    id,
    state: "banned",
    plan: "enterprise",
    readOnly: false,
    minute: { limit: 2, used: 2 },
    day: { limit: 7, used: 2 },
    bannedUntil: "2026-11-21T12:05:11Z",
    lastRequest: "2026-11-21T12:00:11Z",
    created: "2026-11-21T12:00:00Z",
    expires: null,
    graceUntil: null,
    label: "shop",
  });
  assert.equal((await keys(folder, "unban", id)).error, `lifted the ban of ${id}\n`);
  assert.match((await keys(folder, "unban", id)).error, / was not banned\n$/);
});

test("keys list shows no usage if limits.json is damaged, says so, and leaves the file", async (context) => {
  const folder = new KeyFolder(context);
  await create(folder);
  for (const [text, fault] of [["{}\n", "is damaged"], [lineWithChecksum('{"version":9}'), "was written by another release"]] as const) {
    await writeFile(join(folder.path, "limits.json"), text);
    const { code, out, error } = await keys(folder, "list");
    assert.equal(code, 0);
    assert.match(error, new RegExp(`^warning: limits.json ${fault}.*; used requests and bans are not shown\n$`));
    assert.match(out, / {2}0 of 60 +0 of 1000 +- /);
    assert.equal(await readFile(join(folder.path, "limits.json"), "utf8"), text);
  }
});

test("keys list and keys show leave the terminal alone, whatever another program has written as a label", async (context) => {
  const folder = new KeyFolder(context);
  const { id } = await create(folder);
  await appendFile(folder.file, encodeKeyEvent({ event: "label", timeMs: 0, id, label: "\u001b[2Ja\r\nb\u009bc" }));
  for (const command of [["list"], ["show", id]]) {
    assert.match((await keys(folder, ...command)).out, /^[\n -~]*\[2Ja b c\n[\n -~]*$/);
  }
});

test("keys list says that a folder has no keys, by its whole path", async (context) => {
  const folder = new KeyFolder(context);
  const terminal = recordingTerminal({ ANIMAL_STORE_DATA: relative(process.cwd(), folder.path) });
  await runKeys(["list"], terminal);
  assert.equal(terminal.output().stderr, `no keys in ${folder.path}\n`);
  assert.deepEqual(await keys(folder, "list"), { code: 0, out: "", error: `no keys in ${folder.path}\n` });
  assert.deepEqual(await keys(folder, "list", "--json"), { code: 0, out: "", error: `no keys in ${folder.path}\n` });
  assert.deepEqual(await readdir(folder.path), []);
});

for (const place of ["alone", "beside an embedding program"] as const) {
  const begin = async (context: TestContext): Promise<KeyFolder> => {
    const folder = new KeyFolder(context);
    if (place !== "alone") {
      const report = (message: string, level?: string): void => void (level === "warning" && folder.reports.push(message));
      const options = checkOptions({ dataDir: folder.path, report });
      const service = await openService(options, { clock: folder.clock });
      context.after(() => service.close());
    }
    return folder;
  };

  test(`what changes a key says so on standard error, also that there was nothing to change, ${place}`, async (context) => {
    const folder = await begin(context);
    const { id, key } = await create(folder);
    for (const [args, said] of [
      [["plan", id, "--plan", "pro"], `${id} is on the plan pro`],
      [["plan", id, "--plan", "pro"], `${id} was on the plan pro already`],
      [["plan", id, "--plan", "enterprise", "--per-minute", "5", "--per-day", "7"], `${id} is on the plan enterprise`],
      [["label", id, "the shop"], `${id} has the label "the shop"`],
      [["label", id, "the shop"], `${id} had the label "the shop" already`],
      [["label", id, ""], `${id} has no label`],
      [["label", id, ""], `${id} had no label already`],
      [["expire", id, "2027-01-31"], `${id} has the expiry 2027-01-31T00:00:00Z`],
      [["expire", id, "2027-01-31T02:00+02:00"], `${id} had the expiry 2027-01-31T00:00:00Z already`],
      [["expire", id, "never"], `${id} has no expiry`],
      [["expire", id, "never"], `${id} had no expiry already`],
      [["unban", id], `${id} was not banned`],
      [["reset", id], `both quotas of ${id} are unused, and it is not banned`],
      [["revoke", id], `revoked ${id}`],
      [["revoke", id], `${id} was revoked already`],
    ] as const) {
      assert.deepEqual(await keys(folder, ...args), { code: 0, out: "", error: `${said}\n` }, args.join(" "));
    }
    const store = await folder.open();
    assert.deepEqual(store.keyring.get(id)?.plan, { name: "enterprise", perMinute: 5, perDay: 7 });
    assert.equal(ask(store, key), "invalid");
    for (const [verb, ...value] of [["rotate"], ["label", "x"], ["label", ""], ["expire", "2027-01-31"], ["expire", "never"]]) {
      const { code, error } = await keys(folder, verb ?? "", id, ...value);
      assert.deepEqual([code, error], [1, `Cannot ${verb} key: ${id} is revoked\n`]);
    }
    assert.deepEqual(folder.reports, []);
  });

  test(`keys show prints what is known of one key, a line each, and with --json as keys list --json does, ${place}`, async (context) => {
    const folder = await begin(context);
    const { id } = await create(folder, "--label", "the shop", "--expires", "2027-01-31", "--read-only");
    const other = await create(folder);
    await keys(folder, "rotate", id, "--grace", "60");
    const { code, out, error } = await keys(folder, "show", id);
    assert.deepEqual([code, error], [0, ""]);
    assert.deepEqual(out.trimEnd().split("\n").map((line) => line.split(/ {2,}/)), [
      ["ID", id], ["STATE", "active"], ["PLAN", "free"], ["ACCESS", "read-only"],
      ["USED A MINUTE", "0 of 60"], ["USED A DAY", "0 of 1000"], ["BANNED UNTIL", "-"], ["LAST REQUEST", "-"],
      ["CREATED", "2026-11-21T12:00:00Z"], ["EXPIRES", "2027-01-31T00:00:00Z"], ["LABEL", "the shop"],
      ["OLD KEYS WORK UNTIL", "2026-11-21T12:01:00Z"],
    ]);
    const shown = (await keys(folder, "show", id, "--json")).out + (await keys(folder, "show", "--json", other.id)).out;
    assert.equal(shown, (await keys(folder, "list", "--json")).out);
  });

  test(`keys expire and keys label hold at the next request, and for good, ${place}`, async (context) => {
    const folder = await begin(context);
    const { id, key } = await create(folder, "--expires", "2026-11-21T12:00:30Z");
    const state = async (): Promise<readonly unknown[]> => {
      const { state, label } = JSON.parse((await keys(folder, "show", id, "--json")).out) as { state: string; label: string };
      return [state, label, ask(await folder.open(), key)];
    };
    folder.clock.advance(30_000);
    await keys(folder, "label", id, "till");
    assert.deepEqual(await state(), ["expired", "till", "invalid"]);
    await keys(folder, "expire", id, "2026-11-21T12:01:00Z");
    assert.deepEqual(await state(), ["active", "till", id]);
    folder.clock.advance(30_000);
    assert.deepEqual(await state(), ["expired", "till", "invalid"]);
    await keys(folder, "expire", id, "never");
    assert.deepEqual(await state(), ["active", "till", id]);
  });

  test(`keys rotate prints the new key alone, and the old one works for the grace period, ${place}`, async (context) => {
    const folder = await begin(context);
    const { id, key } = await create(folder, "--label", "Żółw 🐢", "--expires", "2027-01-31", "--read-only");
    const { code, out, error } = await keys(folder, "rotate", "--grace=60", id);
    assert.deepEqual([code, error], [0, `rotated ${id} in ${folder.path}; the key itself is shown only once\n`]);
    assert.match(out, /^as_[0-9A-Za-z]{43}\n$/);
    const store = await folder.open();
    assert.deepEqual([ask(store, key), ask(store, out.trimEnd())], [id, id]);
    folder.clock.advance(60_000);
    assert.deepEqual([ask(store, key), ask(store, out.trimEnd())], ["invalid", id]);
    const listed = JSON.parse((await keys(folder, "list", "--json")).out) as object;
    assert.deepEqual({ ...listed, minute: 0, day: 0 }, {
      ...{ id, state: "active", plan: "free", readOnly: true, minute: 0, day: 0, bannedUntil: null, lastRequest: null },
      ...{ created: "2026-11-21T12:00:00Z", expires: "2027-01-31T00:00:00Z", graceUntil: null, label: "Żółw 🐢" },
    });
  });
}

const misuses: readonly (readonly [args: readonly string[], error: RegExp])[] = [
  [[], /^Cannot run keys: the next word must be one of create, list, show, revoke, plan, label, expire, rotate, unban, reset; see keys --help$/],
  [["remove"], /must be one of/],
  [["--plan", "pro"], /must be one of/],
  [["create", "x"], /^Cannot run keys create: it takes flags only; see keys create --help$/],
  [["create", "--grace", "5"], /^Cannot use --grace: unknown flag; see --help$/],
  [["create", "--plans=pro"], /--plans: unknown flag; /],
  [["create", "-p"], /-p: unknown flag; /],
  [["create", "--plan"], /^Cannot use --plan: its value is missing$/],
  [["create", "--plan", "gold"], /^Cannot use plan "gold": must be one of free, pro, business, enterprise$/],
  [["create", "--plan", ""], /^Cannot use plan "": /],
  [["create", "--per-minute", "5", "--per-day", "7"], /^Cannot set the quota of plan "free": /],
  [["create", "--plan", "enterprise", "--per-minute", "5"], /--per-day must be an integer .* received nothing$/],
  [["create", "--plan", "enterprise", "--per-minute", "0", "--per-day", "7"], /--per-minute must be .* received 0$/],
  [["create", "--per-minute", "5.5"], /^Cannot use --per-minute: must be a whole number in digits, received "5.5"$/],
  [["create", "--per-day=-5"], /^Cannot use --per-day: /],
  [["create", "--per-day="], /^Cannot use --per-day: /],
  [["create", "--label", "x".repeat(65)], /^Cannot label key: a label is at most 64 printable characters, /],
  [["create", "--label", "a\nb"], /^Cannot label key: .* received "a\\nb"$/],
  [["create", "--expires", "soon"], /^Cannot set expiry: must be a date such as /],
  [["create", "--expires", "2026-11-21"], /^Cannot set expiry: must be in the future, received "2026-11-21"$/],
  [["create", "--data="], /^Cannot use --data : must not be empty/],
  [["list", "x"], /it takes flags only/],
  [["list", "--json=1"], /^Cannot use --json: it takes no value$/],
  [["revoke"], /^Cannot run keys revoke: it takes one ID, received none; /],
  [["revoke", "a", "b"], /it takes one ID, received 2; /],
  [["show"], /^Cannot run keys show: it takes one ID, received none; /],
  [["label", "key_000000000000000"], /^Cannot run keys label: it takes one ID and one LABEL, received 1; /],
  [["label", "key_000000000000000", "the", "shop"], /it takes one ID and one LABEL, received 3; /],
  [["label", "key_000000000000000", "x".repeat(65)], /^Cannot label key: a label is at most 64 printable characters, /],
  [["label", "key_000000000000000", `as_${"a".repeat(43)}`], /^Cannot label key: the label contains a key$/],
  [["expire", "key_000000000000000"], /^Cannot run keys expire: it takes one ID and one DATE, received 1; /],
  [["expire", "key_000000000000000", "soon"], /^Cannot set expiry: must be a date such as /],
  [["expire", "key_000000000000000", "2026-11-21"], /^Cannot set expiry: must be in the future, received "2026-11-21"$/],
  [["plan", "key_000000000000000"], /^Cannot run keys plan: --plan is missing; /],
  [["rotate", "key_000000000000000", "--grace", "1h"], /^Cannot use --grace: must be .*, received "1h"$/],
  [["rotate", "key_000000000000000", "--grace", "31536001"], /^Cannot rotate key: grace must be .* 31536001$/],
];

for (const [args, message] of misuses) {
  test(`keys ${JSON.stringify(args)} is wrong usage: one line, exit code 2, nothing written`, async (context) => {
    const folder = new KeyFolder(context);
    const { code, out, error } = await keys(folder, ...args);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(error, /^[^\n]+\n$/);
    assert.match(error.trimEnd(), message);
    assert.deepEqual(await readdir(folder.path), []);
  });
}

test("a keys command about a key that is not there exits with 1 and one line, and makes no folder", async (context) => {
  const folder = new KeyFolder(context);
  const id = "key_000000000000000";
  for (const args of [
    ...[["show", id], ["revoke", id], ["plan", id, "--plan", "pro"], ["label", id, "x"], ["expire", id, "never"]],
    ...[["rotate", id], ["unban", id], ["reset", id]],
  ]) {
    const { code, out, error } = await keys(folder, ...args, "--data", join(folder.path, "none"));
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, /^Cannot \w+ key: no key has the id "key_000000000000000"\n$/);
  }
  assert.deepEqual(await readdir(folder.path), []);
});

test("keys exits with 1 and one line if the file is damaged or the folder cannot be used", async (context) => {
  const folder = new KeyFolder(context);
  await create(folder);
  await folder.overwrite(`{"broken":1}\n${await folder.content()}`);
  for (const args of [["create"], ["list"], ["list", "--data", folder.file], ["create", "--data", folder.file]]) {
    const { code, out, error } = await keys(folder, ...args);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, /^[^\n]+\n$/);
  }
});

test("keys COMMAND --help names every flag of the command, and does nothing", async (context) => {
  const folder = new KeyFolder(context);
  const flags: Readonly<Record<string, readonly string[]>> = {
    create: ["--plan", "--per-minute", "--per-day", "--label", "--expires", "--data"],
    list: ["--json", "--data"],
    show: ["--json", "--data"],
    label: ["--data"],
    expire: ["--data"],
    revoke: ["--data"],
    plan: ["--plan", "--per-minute", "--per-day", "--data"],
    rotate: ["--grace", "--data"],
    unban: ["--data"],
    reset: ["--data"],
  };
  const overview = await runHere(["keys", "--help"]);
  for (const [command, names] of Object.entries(flags)) {
    assert.ok(overview.stdout.includes(`  ${command} `), command);
    const help = await runHere(["keys", command, "--nonsense", "--help", "--data", folder.path]);
    assert.deepEqual([help.code, help.stderr], [0, ""]);
    assert.ok(help.stdout.startsWith(`Usage: animal-store keys ${command} `), command);
    assert.deepEqual(names.filter((name) => !help.stdout.includes(`  ${name} `)), []);
    assert.deepEqual(await runHere(["keys", command, "-h"]), help);
  }
  assert.deepEqual(await readdir(folder.path), []);
});
