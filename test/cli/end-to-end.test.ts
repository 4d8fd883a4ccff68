/**
 * The program from outside, as the README shows it: a child process, real HTTP, a restart that finds the same bytes.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { hasIpv6Loopback } from "../support/ipv6.ts";
import { run, type RunningProgram, start } from "../support/program.ts";
import { root } from "../support/root.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";

/** Resolves to what the printed curl line prints. */
async function runCurlLine({ curlLine }: RunningProgram): Promise<string> {
  const [command = "", ...args] = (curlLine ?? "").match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
  return (await promisify(execFile)(command, ["-s", ...args])).stdout;
}

test("a first start makes one Free key and prints it once with a curl line that works as printed; a restart loses nothing", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const first = await start(context, ["--data", data]);
  assert.match(first.firstKey ?? "", /^as_[0-9A-Za-z]{43}$/);
  assert.equal(await runCurlLine(first), "[]");
  const headers = { authorization: `Bearer ${first.firstKey}`, "content-type": "application/json" };
  const body = '{"categoryId":-9223372036854775808,"name":"小白 🐕","status":"sold"}';
  const created = await fetch(`${first.url}/pets`, { method: "POST", headers, body });
  const pet = '{"id":1,"name":"小白 🐕","categoryId":-9223372036854775808,"status":"sold"}';
  assert.deepEqual([created.status, await created.text()], [201, pet]);
  assert.equal(created.headers.get("x-ratelimit-limit"), "60");
  assert.equal(await first.stop(), 0);

  const second = await start(context, ["--data", data]);
  assert.equal(second.firstKey, undefined);
  const listed = await fetch(`${second.url}/pets`, { headers });
  assert.deepEqual([await listed.text(), listed.headers.get("x-ratelimit-remaining")], [`[${pet}]`, "57"]);
  assert.equal(await second.stop(), 0);
});

test("a first start prints the address of the console, unless it is off; there is the page, or 401", async (context) => {
  for (const [args, status] of [[[], 200], [["--console", "off"], 401]] as const) {
    const program = await start(context, ["--data", join(temporaryFolder(context), "data"), ...args]);
    const { origin } = program;
    assert.equal(program.output().stdout.includes(`into the console: ${origin}/\n`), status === 200);
    assert.equal((await fetch(`${origin}/`)).status, status);
    assert.equal((await fetch(`${origin}/livez`)).status, 200);
    assert.equal(await program.stop(), 0);
  }
});

for (const host of ["127.0.0.1", "::1"]) {
  const skip = host === "::1" && !hasIpv6Loopback ? "this machine has no IPv6 loopback" : false;
  test(`a first start on ${host} below a path prints the address of the API there, and its curl line works`, { skip }, async (context) => {
    const args = ["--host", host, "--base-url", "https://example.com/shop/v1"];
    const program = await start(context, ["--data", join(temporaryFolder(context), "data"), ...args]);
    const { hostname, pathname, origin } = new URL(program.url);
    assert.deepEqual([hostname, pathname], [host === "::1" ? "[::1]" : host, "/shop/v1"]);
    assert.ok(program.curlLine?.endsWith(` "${origin}/shop/v1/pets"`), program.curlLine);
    assert.ok(program.output().stdout.includes(`into the console: ${origin}/\n`));
    assert.equal(await runCurlLine(program), "[]");
    assert.equal(await program.stop(), 0);
  });
}

test("a first start prints the command that gives its key a larger plan, which works as printed", async (context) => {
  const data = join(temporaryFolder(context), "the shop's");
  const program = await start(context, ["--data", data]);
  const [, command = ""] = /^ {2}for a larger plan: (node .*)$/m.exec(program.output().stdout) ?? [];
  assert.equal((await promisify(execFile)("sh", ["-c", command])).stdout, "");
  const response = await fetch(`${program.url}/limits`, { headers: { authorization: `Bearer ${program.firstKey}` } });
  assert.equal(((await response.json()) as { readonly plan: unknown }).plan, "pro");
  assert.equal(await program.stop(), 0);
});

test("making a key before the first start avoids the printed one", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const created = await run(["keys", "create", "--data", data]);
  assert.match(created.stdout, /^as_[0-9A-Za-z]{43}\n$/);
  const program = await start(context, ["--data", data]);
  assert.equal(program.firstKey, undefined);
  assert.doesNotMatch(program.output().stdout, /as_/);
  await program.stop();
});

test("a start with an empty key file makes no key", async (context) => {
  const data = join(temporaryFolder(context), "data");
  mkdirSync(data);
  writeFileSync(join(data, "keys.jsonl"), "");
  const program = await start(context, ["--data", data]);
  assert.equal(program.firstKey, undefined);
  assert.match(program.output().stderr, /keys\.jsonl is empty/);
  assert.equal(await program.stop(), 0);
  assert.equal(readFileSync(join(data, "keys.jsonl"), "utf8"), "");
});

test("a second server on the same folder is refused in one line, and kill -9 leaves nothing to clean up", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const first = await start(context, ["--data", data]);
  const second = await run(["--port", "0", "--data", data]);
  assert.equal(second.code, 2);
  assert.match(second.stderr, /^Cannot use --data .*another server or command uses the folder.*\n$/);
  await first.stop("SIGKILL");
  const third = await start(context, ["--data", data]);
  assert.equal(await third.stop(), 0);
});

test("kill -9 does not forget what the limits have counted, which is saved while the server runs", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const first = await start(context, ["--data", data]);
  const left = async (url: string): Promise<string | null> => {
    const response = await fetch(`${url}/pets`, { headers: { authorization: `Bearer ${first.firstKey}` } });
    return response.headers.get("x-ratelimit-remaining");
  };
  assert.equal(await left(first.url), "59");
  const saved = join(data, "limits.json");
  await until("the limits are saved", async () => existsSync(saved) && readFileSync(saved, "utf8").includes("key_"));
  await first.stop("SIGKILL");
  const second = await start(context, ["--data", data]);
  assert.equal(await left(second.url), "58");
  assert.equal(await second.stop(), 0);
});

test("everything that is kept is readable by its owner alone, and no file holds a key", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const program = await start(context, ["--data", data]);
  const secret = program.firstKey ?? "";
  await fetch(`${program.url}/pets`, { headers: { authorization: `Bearer ${secret}` } });
  await program.stop();
  for (const name of ["keys.jsonl", "pets.jsonl", "limits.json"]) {
    assert.equal(statSync(join(data, name)).mode & 0o777, 0o600, name);
    assert.ok(!readFileSync(join(data, name), "utf8").includes(secret.slice(3)), name);
  }
  assert.equal(program.output().stderr.includes(secret), false);
});

test("the sample catalogue is imported as it is", async (context) => {
  const data = join(temporaryFolder(context), "data");
  const sample = join(root, "data/sample.jsonl");
  const imported = await runHere(["import", sample, "--data", data]);
  const lineCount = readFileSync(sample, "utf8").trimEnd().split("\n").length;
  assert.deepEqual([imported.code, imported.stdout], [0, `imported ${lineCount} animals\n`]);
  const checked = await runHere(["check", "--data", data]);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, new RegExp(`${lineCount} animals`));
});
