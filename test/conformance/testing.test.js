/**
 * `animal-store/testing`, as the author of a store uses it: a right store passes, and each of some wrong ones fails.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { here } from "./running-service.js";

/** Runs the tests on the store of own-store.js with the fault. @returns the titles of those that failed */
function failures(fault) {
  const program = `
    import { testPetStore, testStatusChanges } from "animal-store/testing";
    import { OwnStore } from "./own-store.js";
    for (const suite of [testPetStore, testStatusChanges]) {
      suite("own", async () => {
        const kept = { animals: [], results: new Map() };
        return { open: async () => new OwnStore(kept, ${JSON.stringify(fault)}), remove: async () => undefined };
      });
    }`;
  return failuresOf(["--input-type=module", "--eval", program]);
}

/** Runs the tests of this program. @returns the titles of those that failed */
function failuresOf(program) {
  const args = ["--test-reporter=tap", ...program];
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }; // It is a run of its own, not a part of this one.
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: here, env, encoding: "utf8", timeout: 120_000 });
  const failed = stdout.match(/^not ok .*/gm) ?? [];
  assert.equal(status, failed.length === 0 ? 0 : 1);
  assert.match(stdout, /^# tests [3-9]\d$/m);
  return failed;
}

test("a store of one's own passes the tests of animal-store/testing", () => {
  assert.deepEqual(failures("none"), []);
});

const faults = [
  "ids from 0", "no replay", "late close", "any from", "no nextAfter", "changes lost by close",
  "changes dropped by close", "text overwritten later", "100 hashes", "hashes forgotten at a start",
  "hashes for 200 ms", "names equal by trimming", "names equal by normal form", "categories equal as doubles",
  "rows read after the filter", "replays what changes nothing",
];

for (const fault of faults) {
  test(`a store with the fault "${fault}" fails them`, () => {
    assert.notDeepEqual(failures(fault), []);
  });
}
