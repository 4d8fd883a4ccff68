/**
 * `--database`: which addresses are accepted, that no password is printed, and what happens without the package `pg`.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { connectTimeoutMs, maskedAddress, parseDatabaseAddress } from "../../src/cli/database-address.ts";
import { UsageError } from "../../src/cli/parse-flags.ts";
import { readStorage, readSettings } from "../../src/cli/settings.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";

/** Addresses that are accepted, and how each is shown. */
const good = [
  ["postgres://localhost", "postgres://localhost"],
  ["postgresql://app@db.example:5432/store", "postgresql://app@db.example:5432/store"],
  ["postgres://app:hidden@db.example/store", "postgres://app:***@db.example/store"],
  ["postgres://app:hid%40den%2F%23@[::1]:5432/store", "postgres://app:***@[::1]:5432/store"],
  ["postgres://app:hid:den!$&'()*+,;=@db.example/store", "postgres://app:***@db.example/store"],
  ["postgres://db.example/store?user=app&password=hidden&sslmode=require", "postgres://db.example/store?***"],
  ["postgres://app:hidden@/store?host=/run/postgresql", "postgres://app:***@/store?***"],
  ["postgres:///store?p%61ssword=hidden", "postgres:///store?***"],
  ["postgres://app:hidden@db.example/store?connect_timeout=10", "postgres://app:***@db.example/store?***"],
] as const;

/** Texts that are refused. "hidden" stands for a password, or a part of one. */
const bad = [
  "", "hidden", "host=db.example password=hidden", "mysql://app:hidden@db.example/store", "postgres:app:hidden@db.example",
  "POSTGRES://app:hidden@db.example/store", " postgres://app:hidden@db.example/store", "postgres//app:hidden@db.example",
  "postgres://app:hid@hidden@db.example/store", "postgres://app:hid/hidden@db.example/store",
  "postgres://app:12/hidden@db.example/store", "postgres://app:12?hidden@db.example/store",
  "postgres://app:12#hidden@db.example/store", "postgres://app:hid hidden@db.example/store", "postgres://app:hidden",
  "postgres://app:hid#hidden", "postgres://app:hid%zzhidden@db.example/store", "postgres://app:hid\nhidden@db.example/store",
  "postgres://app:hidden@db.example:port/store", "postgres://app:hidden@db exam/ple", "postgres://app:hidden@db.example/st@re",
  "postgres://app:hidden@db.example/store#hidden", "xpostgres://app:hidden@db.example/store",
];

test("an address is accepted, and shown without its password", () => {
  for (const [address, shown] of good) {
    assert.equal(parseDatabaseAddress(address), address);
    assert.equal(maskedAddress(address), shown);
    assert.equal(maskedAddress(shown), shown, "masking twice changes nothing");
    const fromFlag = { kind: "database", address, connectionCount: 10, cited: `--database ${shown}` };
    assert.deepEqual(readSettings(["--database", address], {}).settings.storage, fromFlag);
    const fromVariable = { kind: "database", address, connectionCount: 10, cited: `ANIMAL_STORE_DATABASE=${shown}` };
    assert.deepEqual(readStorage(new Map(), { ANIMAL_STORE_DATABASE: address }), fromVariable);
    assert.deepEqual(readStorage(new Map([["database", address]]), { ANIMAL_STORE_DATABASE: "postgres://x" }), fromFlag);
  }
});

test("the most connections that a server and a command open are a setting", () => {
  const address = "postgres://db.example/store";
  const { storage } = readSettings(["--database", address, "--database-connections", "100"], {}).settings;
  assert.equal(storage.kind === "database" && storage.connectionCount, 100);
  const ofCommand = readStorage(new Map([["database", address]]), { ANIMAL_STORE_DATABASE_CONNECTIONS: "1" });
  assert.equal(ofCommand.kind === "database" && ofCommand.connectionCount, 1);
  for (const count of ["0", "101", "x"]) {
    assert.throws(() => readSettings(["--database", address, "--database-connections", count], {}), UsageError);
  }
});

test("a connect_timeout is 1 to 999 seconds, and other members of the address that nobody uses are told", () => {
  assert.equal(connectTimeoutMs("postgres://db.example/store?sslmode=require&connect_timeout=10"), 10_000);
  assert.equal(connectTimeoutMs("postgres://db.example/store"), undefined);
  for (const seconds of ["0", "-1", "x", "", "1.5", "1000"]) {
    assert.throws(() => parseDatabaseAddress(`postgres://db.example/store?connect_timeout=${seconds}`), /1 to 999 seconds/);
  }
  const members = "host=/run&gssencmode=disable&sslmode=require&gssencmode=x&keepalives_idle=5&options=-c%20x";
  const names = readSettings(["--database", `postgres:///store?${members}`], {}).warnings;
  assert.deepEqual(names, ["gssencmode", "keepalives_idle"].map((name) => `the member ${name} of the database's address has no effect`));
});

test("a text that is no address is refused in one line, and no part of it that may be a password is shown", async () => {
  for (const text of bad) {
    assert.throws(() => parseDatabaseAddress(text), RangeError, text);
    for (const command of [[], ["keys", "list"], ["check"], ["import", "x.jsonl"], ["export", "folder"]]) {
      const { code, stdout, stderr } = await runHere([...command, "--database", text]);
      assert.deepEqual([code, stdout], [2, ""], text);
      assert.match(stderr, /^Cannot use --database [^\n]*: must [^\n]*\n$/);
      assert.doesNotMatch(stderr, /hid/, text);
    }
  }
  const { code, stderr } = await runHere([], { ANIMAL_STORE_DATABASE: "postgres://app:hid/hidden@db.example/store" });
  assert.deepEqual([code, /^Cannot use ANIMAL_STORE_DATABASE=postgres:\/\/app:\*\*\*@db/.test(stderr)], [2, true], stderr);
});

test("an address in the wrong place of a command line is shown without its password too", async () => {
  const address = "postgres://app:hidden@db.example/store";
  for (const args of [[address], ["--port", address], ["import", address], ["check", address], ["keys", "revoke", address]]) {
    const { code, stdout, stderr } = await runHere(args);
    assert.notEqual(code, 0);
    assert.doesNotMatch(stdout + stderr, /hidden/, args.join(" "));
  }
});

test("JSON stays JSON where an address in it is masked", async (context) => {
  const data = temporaryFolder(context);
  for (const label of ["postgres://db/x?y", "postgres://shop:5432x"]) {
    await runHere(["keys", "create", "--data", data, "--label", label]);
  }
  const { stdout } = await runHere(["keys", "list", "--json", "--data", data]);
  const { stderr } = await runHere(["--log", "requests", "postgres://app@db/store?sslmode=x"]);
  const lines = `${stdout}${stderr}`.trimEnd().split("\n");
  assert.equal(lines.map((line) => JSON.parse(line) as object).length, 3);
});

test("a folder and a database cannot be used together, whichever way they are given", () => {
  const address = "postgres://app:hidden@db.example/store";
  const masked = "postgres://app:***@db.example/store";
  const table = [
    [["--database", address, "--data", "x"], {}, `--database ${masked} together with --data x`],
    [["--database", address], { ANIMAL_STORE_DATA: "x" }, `--database ${masked} together with ANIMAL_STORE_DATA=x`],
    [["--data", "x"], { ANIMAL_STORE_DATABASE: address }, `ANIMAL_STORE_DATABASE=${masked} together with --data x`],
  ] as const;
  for (const [args, environment, cited] of table) {
    const says = (error: unknown): boolean => error instanceof UsageError && error.message.startsWith(`Cannot use ${cited}: `);
    assert.throws(() => readSettings(args, environment), says);
  }
});

/** Hides the package, which a clone may have. */
const withoutPg = `export async function resolve(name, context, next) {
  return next(name === "pg" ? "pg-that-is-hidden" : name, context);
}`;

test("without the package pg, every command with a database says how to install it, with exit code 2", async (context) => {
  register(`data:text/javascript,${encodeURIComponent(withoutPg)}`);
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, "new.jsonl"), '{"name":"Rex","categoryId":1}\n');
  const files = [folder, join(folder, "new.jsonl")];
  const commands = [[], ["keys", "list"], ["keys", "create"], ["check"], ...files.map((file) => ["import", file])];
  for (const command of commands) {
    const { code, stdout, stderr } = await runHere([...command, "--database", "postgres://app:hidden@127.0.0.1:1/store"]);
    const says = "Cannot use --database postgres://app:***@127.0.0.1:1/store: the package pg is missing; run: npm install pg " +
      "(in a clone: npm run add-pg)\n";
    assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: "", stderr: says });
  }
});

test("a folder is imported into a database only, and an export names one folder", async (context) => {
  const folder = temporaryFolder(context);
  const imported = await runHere(["import", folder, "--data", join(folder, "data")]);
  assert.deepEqual([imported.code, /^Cannot import .*: it is a folder; .* --database\n$/.test(imported.stderr)], [2, true]);
  assert.match((await runHere(["export"])).stderr, /^Cannot export: name one folder/);
  assert.match((await runHere(["export", "", "--database", "postgres://127.0.0.1:1/x"])).stderr, /^Cannot export: name one folder/);
});
