import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { explain, RefusedError } from "../../src/disk/file-errors.ts";
import { userName } from "../../src/disk/owner.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

function errorOf(path: string): unknown {
  try {
    return readFileSync(path);
  } catch (error) {
    return error;
  }
}

test("explain() names the file of a call on a descriptor, and keeps code and cause", async () => {
  const cause = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  const error = await explain(cause, "/data/a");
  assert.ok(error instanceof RefusedError);
  assert.deepEqual([error.message, error.code, error.cause], [`/data/a: ${cause.message}`, "ENOSPC", cause]);
});

test("explain() leaves what names its file, has no code or no path, and its own errors", async (context) => {
  const noPath = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
  const refused = await explain(noPath, "/data/a");
  for (const error of [errorOf("/"), errorOf(join(temporaryFolder(context), "a/b")), noPath, new Error("x"), undefined, "text", null, refused]) {
    assert.equal(await explain(error), error);
  }
});

test("userName() is the name of any user, and the number of one who has no name", async () => {
  assert.equal(await userName(0), "root");
  assert.equal(await userName(4_000_000_000), "4000000000");
});
