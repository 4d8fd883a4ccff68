import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { curlLine, quoteForShell } from "../../src/console/call-request.ts";

/** The arguments that `sh` hands to `curl`, with KEY set. */
function argumentsInShell(line: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`;
  const output = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { ...process.env, KEY: "as_secret" } });
  return output.split("\0").slice(0, -1);
}

test("curlLine() gives sh the arguments of the request, with the key from the environment", () => {
  const url = "http://[::1]:3000/v1/pets?limit=2&status=sold";
  assert.deepEqual(argumentsInShell(curlLine({ url, method: "GET" })), ["-gi", url, "-H", "Authorization: Bearer as_secret"]);
});

test("curlLine() has the address that a browser sends", () => {
  const line = curlLine({ url: "http://a/v1/pets?status=ü n", method: "GET" });
  assert.equal(argumentsInShell(line)[1], "http://a/v1/pets?status=%C3%BC%20n");
});

test("curlLine() passes content unchanged, even characters that are special to sh", () => {
  const content = `{"name":"it's $HOME \`id\` \\" \\\\ !! * ~ 'x' #","categoryId":1}`;
  const line = curlLine({ url: "http://a/v1/pets", method: "POST", fields: { "Idempotency-Key": '"a b"' }, content });
  assert.deepEqual(argumentsInShell(line).slice(4), ["-H", 'Idempotency-Key: "a b"', "--data-raw", content]);
});

test("curlLine() names the method of a change, which has content", () => {
  const content = '{"status":"sold"}';
  const line = curlLine({ url: "http://a/v1/pets/1", method: "PATCH", content });
  const key = ["-H", "Authorization: Bearer as_secret"];
  assert.deepEqual(argumentsInShell(line), ["-giX", "PATCH", "http://a/v1/pets/1", ...key, "--data-raw", content]);
});

test("quoteForShell() keeps quotes at both ends", () => {
  assert.deepEqual(argumentsInShell(`curl ${quoteForShell("'a''")}`), ["'a''"]);
});
