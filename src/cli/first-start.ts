/** The first start on a folder, which finds no key file: it makes a key, so that one command is enough to begin. */

import { randomBytes } from "node:crypto";
import { rmdir } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Disk } from "../disk/disk.ts";
import { appendAll } from "../disk/file-bytes.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { keyFileName } from "../folder/key-file.ts";
import { keyLineBytesMax } from "../keys/key-line.ts";
import { newKey } from "../keys/keys.ts";
import type { Service } from "../service.ts";
import { petFileName } from "../store/load-pets.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Ends a first start on a full disk before it listens. The key is made later, once the ports are open: nobody would
 * ever see the key of a start that fails because a port is taken.
 * @throws {Error} there is no space for the key
 */
export async function mustHaveRoom(
  { engine }: Pick<Service, "engine">,
  { storage }: Settings,
  disk: Disk = nodeDisk,
): Promise<void> {
  if (storage.kind !== "folder" || engine.keys.exists) {
    return;
  }
  const path = join(storage.dataDir, `${keyFileName}.new`);
  const file = await disk.openToAppend(path);
  try {
    await appendAll(file, Buffer.alloc(keyLineBytesMax));
  } catch (error) {
    throw new Error(`Cannot write the first key: ${messageOf(error)}`, { cause: error });
  } finally {
    await file.close();
    await disk.remove(path);
  }
}

/** Removes a folder that this start has made and that nothing was written to, as where a port is taken. */
export async function removeUnused(folder: string): Promise<void> {
  const lock = await lockFolder(nodeDisk, folder).catch(() => undefined);
  if (lock === undefined) {
    return; // Another start uses it.
  }
  const path = join(folder, petFileName);
  const file = await nodeDisk.openToRead(path);
  const isEmpty = file?.size() === 0;
  await file?.close();
  if (isEmpty) {
    await nodeDisk.remove(path);
  }
  await lock.release();
  await new Promise((resolve) => rmdir(folder, resolve)); // One that is not empty stays, which is no error.
}

/**
 * Makes and prints the first key of a folder. Not of a database: a restore may be about to fill its tables.
 * @param origin where this machine reaches the server
 * @throws {Error} the key cannot be stored
 */
export async function showFirstKey(
  { engine, options: { basePath } }: Service,
  origin: string,
  { settings, terminal }: { readonly settings: Settings; readonly terminal: Terminal },
): Promise<void> {
  if (settings.storage.kind !== "folder" || engine.keys.exists) {
    return;
  }
  const { event, secret: { key } } = newKey({ label: "first key" }, { clock: systemClock, randomBytes });
  if (!(await engine.keys.createFirst(event))) {
    return; // Another server was first.
  }
  const isShown = terminal.showKey(
    `first start: made a key on the Free plan; it is shown this once\n\n` +
      `  ${key}\n\n` +
      `  curl -H "Authorization: Bearer ${key}" "${origin}${basePath}/pets"\n\n` +
      (settings.hasConsole ? `  or paste the key into the console: ${origin}/\n\n` : ""),
  );
  if (!isShown) {
    terminal.report("the first key could not be printed; make another with keys create", "warning");
  }
}
