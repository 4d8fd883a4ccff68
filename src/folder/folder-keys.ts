/**
 * The keys of a data folder, for commands. Each change locks the folder and is made here, if the folder is free, else
 * by the process that holds it.
 */

import type { Report } from "../base/report.ts";
import type { Disk } from "../disk/disk.ts";
import { folderLockPath, isFolderLocked } from "../disk/lock.ts";
import { changeThroughDoor, listThroughDoor, workOrAsk } from "./ask.ts";
import { holdKeys } from "./engine.ts";
import { KeyChanger, type KeyChangerOptions } from "../keys/key-changer.ts";
import { KeyFile } from "./key-file.ts";
import { KeyStore } from "../keys/key-store.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import type { KeyEvent } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import { limitsFileName, loadLimits } from "./limits-file.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";

export interface FolderKeysOptions extends KeyChangerOptions {
  readonly disk: Disk;
  readonly report: Report;
}

export class FolderKeys extends KeyChanger {
  readonly #dataDir: string;
  readonly #options: FolderKeysOptions;

  constructor(dataDir: string, options: FolderKeysOptions) {
    super(options);
    this.#dataDir = dataDir;
    this.#options = options;
  }

  async list(): Promise<KeySummary[]> {
    const dataDir = this.#dataDir;
    const { disk } = this.#options;
    return workOrAsk(
      dataDir,
      async () => ((await isFolderLocked(disk, dataDir)) ? undefined : (await this.#read()).list()),
      () => listThroughDoor(disk, dataDir),
    );
  }

  async change(event: KeyEvent): Promise<boolean> {
    const dataDir = this.#dataDir;
    const { disk } = this.#options;
    if (event.event !== "made" && !(await disk.exists(dataDir))) {
      return (await this.#read()).change(event); // Makes no folder for a key that cannot be known.
    }
    await disk.makeFolder(dataDir);
    const work = async (): Promise<boolean | undefined> => {
      const lock = await disk.lock(folderLockPath(dataDir));
      if (lock === undefined) {
        return undefined;
      }
      const held = await holdKeys(lock, { ...this.#options, dataDir }, () => undefined);
      return held.keys.change(event).finally(() => held.close());
    };
    return workOrAsk(dataDir, work, () => changeThroughDoor(disk, dataDir, event));
  }

  /** As the last save left them. Writes nothing: the keys of a folder that cannot be written are shown, too. */
  async #read(): Promise<KeyStore> {
    const { clock, disk, report } = this.#options;
    const keyFile = await KeyFile.open({ ...this.#options, dataDir: this.#dataDir, isReadOnly: true });
    const readLimits = async (keyring: Keyring): Promise<MemoryLimiter> => {
      const limiter = new MemoryLimiter({ clock });
      const fault = await loadLimits(disk, this.#dataDir, limiter, keyring);
      if (fault !== undefined) {
        report(`${limitsFileName} ${fault}; used requests and bans are not shown`, "warning");
      }
      return limiter;
    };
    return new KeyStore(keyFile, { ...this.#options, readLimits });
  }
}
