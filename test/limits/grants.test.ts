/**
 * Goal: `keys unban` and `keys reset` lift a ban, in a running server and in limits.json. Method: services that start on the two files.
 */

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { folderKeys } from "../../src/folder/folder-keys.ts";
import type { SavedLimits } from "../../src/folder/limits-file.ts";
import { Keys } from "../../src/keys/keys.ts";
import { checkOptions } from "../../src/options.ts";
import { openService, type Service } from "../../src/service.ts";
import { KeyFolder } from "../support/key-folder.ts";
import { ManualClock } from "../support/manual-clock.ts";

const minute = 60_000;

function open({ path: dataDir, clock }: KeyFolder): Promise<Service> {
  return openService(checkOptions({ dataDir, report: () => undefined }), { clock });
}

/** How many keys are banned in a service that starts on the folder. */
async function bannedKeyCount(folder: KeyFolder): Promise<number> {
  const service = await open(folder);
  const { bannedKeyCount: count = 0 } = service.gauges;
  await service.close();
  return count;
}

/** A file that has the key banned a minute ago, for five minutes. */
async function saveBan({ path, clock }: KeyFolder, id: string): Promise<void> {
  const savedMs = clock.wallMs();
  const ban = { untilMs: savedMs + 4 * minute, durationMs: 5 * minute };
  const saved = { version: 1, savedMs, keys: [{ id, ban }] };
  await writeFile(join(path, "limits.json"), lineWithChecksum(JSON.stringify(saved)));
}

/** Whether the key is banned at the instant of the save. */
function isBanned({ savedMs, keys }: SavedLimits, id: string): boolean {
  return keys.some((key) => key.id === id && (key.ban?.untilMs ?? 0) > savedMs);
}

for (const change of ["unban", "reset"] as const) {
  test(`keys ${change} is in limits.json once it is confirmed, so kill -9 brings no ban back`, async (context) => {
    const folder = new KeyFolder(context);
    const { id } = await (await folder.open()).create();
    await saveBan(folder, id);
    const service = await open(folder);
    await service.keys[change](id);
    const saved = JSON.parse(await readFile(join(folder.path, "limits.json"), "utf8")); // As a kill -9 would leave it.
    await service.close();
    assert.equal(isBanned(saved, id), false);
  });

  test(`keys ${change} says so if limits.json cannot be saved: the ban is back after a restart`, async (context) => {
    const folder = new KeyFolder(context);
    const { id } = await (await folder.open()).create();
    await saveBan(folder, id);
    await mkdir(join(folder.path, "limits.json.new"));
    const service = await open(folder);
    for (const _ of [1, 2]) {
      await assert.rejects(service.keys[change](id), /the limits cannot be saved, .*, so the change is in effect until a restart$/);
    }
    assert.equal(service.gauges.bannedKeyCount, 0);
    await service.close();
    assert.equal(await bannedKeyCount(folder), 1);
  });

  test(`keys ${change} by a clock that is wrong by a year, while no server runs, leaves the limits of other keys as they were`, async (context) => {
    for (const wrongMs of [-1, 1].map((sign) => sign * 365 * 24 * 60 * minute)) {
      const folder = new KeyFolder(context);
      const [{ id }, { id: other }] = [await (await folder.open()).create(), await (await folder.open()).create()];
      const savedMs = folder.clock.wallMs();
      const ban = { untilMs: savedMs + 4 * minute, durationMs: 5 * minute };
      const used = { used: 7, endsMs: savedMs + minute / 2 };
      const theirs = { id: other, minute: used, day: { ...used, endsMs: savedMs + 600 * minute }, ban, lastMs: savedMs - 5 };
      const path = join(folder.path, "limits.json");
      await writeFile(path, lineWithChecksum(JSON.stringify({ version: 1, savedMs, keys: [{ id, ban }, theirs] })));
      const clock = new ManualClock();
      clock.stepWall(wrongMs);
      const command = folderKeys({ disk: nodeDisk, clock, dataDir: folder.path, report: assert.fail });
      await new Keys(command, { clock, randomBytes: folder.randomBytes })[change](id);
      const saved = JSON.parse(await readFile(path, "utf8"));
      assert.deepEqual(saved.keys.find((key: { id: string }) => key.id === other), theirs);
      assert.equal(saved.savedMs, savedMs);
      assert.equal(isBanned(saved, id), false);
    }
  });

  test(`keys ${change} lifts a ban while no server runs`, async (context) => {
    const folder = new KeyFolder(context);
    const { id } = await (await folder.open()).create();
    await saveBan(folder, id);
    assert.equal(await bannedKeyCount(folder), 1);
    const { clock, path: dataDir, randomBytes } = folder;
    const command = folderKeys({ disk: nodeDisk, clock, dataDir, report: () => undefined });
    await new Keys(command, { clock, randomBytes })[change](id);
    assert.equal(await bannedKeyCount(folder), 0);
  });
}
