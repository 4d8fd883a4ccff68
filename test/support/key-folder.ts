/**
 * A data folder for one test, the stores that a server and commands would have opened on it, and ways to damage its
 * key file as crashes and people do.
 */

import { appendFile, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { KeyFile, type KeyFileOptions } from "../../src/folder/key-file.ts";
import { KeyCommands, type KeyCommandsOptions, type KeyLog } from "../../src/keys/key-commands.ts";
import type { RandomBytes } from "../../src/keys/key.ts";
import { Keys, type KeysOptions } from "../../src/keys/keys.ts";
import { ManualClock } from "./manual-clock.ts";
import { seededBytes } from "./random-bytes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Keys as a server has them: with the commands on them and their keyring. */
export type OpenKeys = Keys & Pick<KeyCommands, "keyring" | "exists" | "change" | "createFirst" | "close">;

export function keysOver(log: KeyLog, options: KeyCommandsOptions & KeysOptions): OpenKeys {
  const store = new KeyCommands(log, options);
  const { keyring, exists } = store;
  const change: KeyCommands["change"] = (event) => store.change(event);
  const createFirst: KeyCommands["createFirst"] = (made) => store.createFirst(made);
  return Object.assign(new Keys(store, options), { keyring, exists, change, createFirst, close: () => store.close() });
}

export class KeyFolder {
  readonly clock: ManualClock = new ManualClock();
  readonly context: TestContext;
  readonly path: string;
  readonly file: string;
  readonly reports: string[] = [];
  /** The unbans and resets that were reported, each as "reset key_…". */
  readonly grants: string[] = [];
  readonly randomBytes: RandomBytes = seededBytes(11);

  /** Removed when the test is over. */
  constructor(context: TestContext) {
    this.context = context;
    this.path = temporaryFolder(context);
    this.file = join(this.path, "keys.jsonl");
  }

  /** Opens the file as the owner of the folder's lock does. Its reports, unbans and resets are recorded. */
  async openFile(options: Partial<KeyFileOptions> = {}): Promise<KeyFile> {
    const file = await KeyFile.open({
      disk: nodeDisk,
      clock: this.clock,
      dataDir: this.path,
      report: (message) => this.reports.push(message),
      onGrant: async (lift, id) => void this.grants.push(`${lift} ${id}`),
      ...options,
    });
    this.context.after(() => file.close());
    return file;
  }

  async open(options: Partial<KeyFileOptions & KeyCommandsOptions & KeysOptions> = {}): Promise<OpenKeys> {
    const { clock, randomBytes } = this;
    return keysOver(await this.openFile(options), { clock, randomBytes, ...options });
  }

  content(): Promise<string> {
    return readFile(this.file, "utf8");
  }

  async lines(): Promise<string[]> {
    return (await this.content()).split(/(?<=\n)/);
  }

  async append(text: string): Promise<void> {
    await appendFile(this.file, text);
  }

  /** Rewrites the file in place. */
  async overwrite(text: string): Promise<void> {
    await writeFile(this.file, text);
  }

  /** Replaces the file by rename. */
  async replace(text: string): Promise<void> {
    await writeFile(`${this.file}.new`, text, { mode: 0o600 });
    await rename(`${this.file}.new`, this.file);
  }
}

/** Returns the id of the key with that secret, or "missing" or "invalid". */
export function ask(store: OpenKeys, secret: string): string {
  const result = store.keyring.authenticate(`Bearer ${secret}`);
  return result.kind === "key" ? result.key.id : result.kind;
}
