/**
 * The process of an export ends at each of its calls of the disk: no start takes a part of the export for the whole, and
 * it can be run again.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";

import { systemClock } from "../../src/base/clock.ts";
import { fillFolder } from "../../src/disk/atomic-folder.ts";
import type { Disk } from "../../src/disk/disk.ts";
import { writeFile } from "../../src/disk/file-bytes.ts";
import type { Engine } from "../../src/engine.ts";
import { openFolder } from "../../src/folder/engine.ts";
import { KeyFile } from "../../src/folder/key-file.ts";
import { Keys } from "../../src/keys/keys.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

const dataDir = "/backup";
const names = ["keys.jsonl", "limits.json", "pets.jsonl"];
const unfinished = /^Cannot use \/backup: an export or a salvage into it was not finished; run it again$/;

function start(disk: Disk): Promise<Engine> {
  const options = { disk, clock: systemClock, dataDir, report: (): void => undefined, onGroup: (): void => undefined };
  return openFolder({ ...options, signal: undefined });
}

/** The content of the files, with a key and an animal. */
async function contents(random: SeededRandom): Promise<readonly string[]> {
  const disk = new SimulatedDisk(random);
  const { keys, store, close } = await start(disk.boot());
  await new Keys(keys, { clock: systemClock, randomBytes }).create();
  await store.add({ name: "Rex", categoryId: 1n, status: "sold" });
  await close();
  return names.map((name) => disk.seen(join(dataDir, name)).toString());
}

async function assertWhole(disk: Disk): Promise<void> {
  const { keys, store, close } = await start(disk);
  assert.equal((await keys.list()).length, 1);
  assert.match(String((await store.get(1))?.json), /Rex/);
  await close();
}

for (const fault of ["kill", "power", "error"] as const) {
  test(`an export that ends by ${fault} at any call is whole, nothing or refused by a start, and can be run again`, seeded(async (random) => {
    const texts = await contents(random);
    const ends = new Set<string>();
    for (let nth = 1, isOver = false; !isOver; nth++) {
      const disk = new SimulatedDisk(random);
      const run = (): Promise<unknown> => {
        const own = disk.boot();
        const write = async (): Promise<void> => {
          for (const [index, name] of names.entries()) {
            await writeFile(own, join(dataDir, name), [texts[index]!]); // One for each name.
          }
        };
        return fillFolder(own, dataDir, names, write);
      };
      disk.plan = (call) => (call === nth ? fault : "none");
      const exporting = run().then(() => (isOver = disk.calls < nth), () => undefined);
      await Promise.race([exporting, disk.death]);
      disk.plan = () => "none";
      disk.killProcess();
      const there = names.filter((name) => disk.names().includes(join(dataDir, name)));
      const isMarked = disk.names().some((name) => name.endsWith(".unfinished"));
      ends.add(isMarked ? "marked" : String(there.length));
      if (isMarked) {
        const own = disk.boot();
        const report = (): void => undefined;
        const opened = [
          () => start(own),
          () => openPetStore({ disk: own, dataDir, report }),
          () => KeyFile.open({ disk: own, clock: systemClock, dataDir, report }),
        ];
        for (const open of opened) {
          await assert.rejects(open, { message: unfinished });
        }
      }
      if (isMarked || there.length === 0) {
        await run();
      }
      await assertWhole(disk.boot());
    }
    assert.deepEqual([...ends].sort(), ["0", "3", "marked"]);
  }));
}
