import assert from "node:assert/strict";
import { test } from "node:test";

import { Appender } from "../../src/log/appender.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/pets/pets.jsonl";

test("a look at the file that fails, before a write or after its sync, costs one piece at most, and ends nothing", async () => {
  for (let failing = 1; failing <= 4; failing++) {
    const disk = new SimulatedDisk(new SeededRandom(1));
    disk.place(path, Buffer.alloc(0));
    const file = await disk.boot().openToAppend(path);
    const reports: string[] = [];
    const report = (message: string): void => void reports.push(message);
    const appender = new Appender({ file, path, lengthBytes: 0, report });
    let looks = 0;
    disk.plan = (_, name) => (name === "look" && ++looks === failing ? "blind" : "none");
    let kept = "";
    for (const piece of ["a\n", "b\n", "c\n"]) {
      const outcome = await appender.append(Buffer.from(piece));
      if (outcome.kind === "appended") {
        kept += piece;
      } else {
        assert.equal(outcome.kind, "absent", `look ${failing}`);
      }
    }
    assert.ok(kept.endsWith("c\n") && kept.length >= 4, `look ${failing}: ${kept}`);
    assert.equal(disk.kept(path).toString(), kept);
    assert.equal(appender.ended, undefined);
    assert.doesNotMatch(reports.join(), /another process/);
  }
});
