import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
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

test("explain() names of an absent path the first part that is not there, also behind a link, and keeps code and cause", async (context) => {
  const folder = temporaryFolder(context);
  symlinkSync(join(folder, "volume", "pets"), join(folder, "link"));
  for (const [path, absent] of [["a", "a"], ["a/b/c", "a"], ["link", "volume"], ["link/pets.jsonl", "volume"]] as const) {
    const cause = errorOf(join(folder, path));
    const error = await explain(cause);
    assert.ok(error instanceof RefusedError);
    assert.deepEqual([error.message, error.code, error.cause], [`${join(folder, absent)} does not exist`, "ENOENT", cause]);
  }
});

test("errors of Linux that Node has no name for have a name, and a sentence", async (context) => {
  const path = join(temporaryFolder(context), "pets.jsonl");
  for (const [errno, name, sentence] of [
    [122, "EDQUOT", /^the disk quota is used up on the disk of \//], [116, "ESTALE", /^\/\S+ is on a network file system that/],
    [117, "EUCLEAN", /^the file system of \/\S+ is damaged$/],
  ] as const) {
    const text = `Unknown system error -${errno}`;
    const error = await explain(Object.assign(new Error(`${text}: ${text}, write`), { code: text, errno: -errno, syscall: "write" }), path);
    assert.ok(error instanceof RefusedError);
    assert.deepEqual([error.code, sentence.test(error.message)], [name, true], error.message);
  }
});

test("explain() leaves what it has no sentence for: other codes, no path, what is no error, its own errors", async (context) => {
  const refused = await explain(errorOf(join(temporaryFolder(context), "none")));
  const noPath = Object.assign(new Error("no space"), { code: "ENOSPC" });
  // Nobody is refused this path by its mode: a rule of the system is why.
  const noReason = Object.assign(new Error("permission denied"), { code: "EACCES", path: "/" });
  const broken = process.getuid?.() === 0 ? [noReason] : [];
  for (const error of [errorOf("/"), noPath, new Error("x"), undefined, "text", null, refused, ...broken]) {
    assert.equal(await explain(error), error);
  }
});

test("userName() is the name of any user, and the number of one who has no name", async () => {
  assert.equal(await userName(0), "root");
  assert.equal(await userName(4_000_000_000), "4000000000");
});
