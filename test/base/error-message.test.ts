import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { messageOf } from "../../src/base/error-message.ts";
import { explain, undefinedIfAbsent } from "../../src/disk/file-errors.ts";

test("messageOf() of a failure to connect to several addresses names each, since it has no message itself", () => {
  const failures = [new Error("connect ECONNREFUSED ::1:1"), new Error("connect ECONNREFUSED 127.0.0.1:1")];
  assert.equal(messageOf(new AggregateError(failures)), "connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1");
  assert.equal(messageOf(new AggregateError(failures, "two failures")), "two failures");
});

test("errors of another realm are read as our own: under Jest, the library and Node have different ones", async () => {
  const absent = runInNewContext('Object.assign(new Error("no such file"), { code: "ENOENT" })') as Error;
  const unreached = runInNewContext('new AggregateError([new Error("refused"), new Error("unreachable")])') as Error;
  assert.equal(absent instanceof Error, false);
  assert.equal(await undefinedIfAbsent(Promise.reject(absent)), undefined);
  assert.equal(messageOf(absent), "no such file");
  assert.equal(messageOf(unreached), "refused; unreachable");
  const { message, code } = await explain(Object.assign(absent, { syscall: "read" }), "/keys.jsonl") as NodeJS.ErrnoException;
  assert.deepEqual([message, code], ["/keys.jsonl: no such file", "ENOENT"]);
});
