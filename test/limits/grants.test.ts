/**
 * Goal: `keys unban` and `keys reset` lift a ban, in a running server and in limits.json. Method: services that start on the two files.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { checkOptions } from "../../src/options.ts";
import { openService, type Service } from "../../src/service.ts";
import { KeyFolder } from "../support/key-folder.ts";

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
  const saved = { version: 1, savedMs, keys: [{ id, ban, reliefs: 0 }] };
  await writeFile(join(path, "limits.json"), lineWithChecksum(JSON.stringify(saved)));
}

for (const change of ["unban", "reset"] as const) {
  test(`keys ${change} lifts a ban in a running server, and in what is saved`, async (context) => {
    const folder = new KeyFolder(context);
    const { id } = await (await folder.open()).create();
    await saveBan(folder, id);
    const service = await open(folder);
    const before = service.gauges.bannedKeyCount;
    await service.keys[change](id);
    const after = service.gauges.bannedKeyCount;
    await service.close();
    assert.deepEqual([before, after, await bannedKeyCount(folder)], [1, 0, 0]);
  });

  test(`keys ${change} lifts a ban while no server runs`, async (context) => {
    const folder = new KeyFolder(context);
    const { id } = await (await folder.open()).create();
    await saveBan(folder, id);
    assert.equal(await bannedKeyCount(folder), 1);
    await (await folder.open())[change](id);
    assert.equal(await bannedKeyCount(folder), 0);
  });
}
