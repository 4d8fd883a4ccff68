/** The first start on a folder, which finds no key file: it makes a key, so that one command is enough to begin. */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { systemClock } from "../base/clock.ts";
import { newKey } from "../keys/keys.ts";
import type { Service } from "../service.ts";
import { quoted } from "./parse-flags.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

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
  const { storage } = settings;
  if (storage.kind !== "folder" || engine.keys.exists) {
    return;
  }
  const dataDir = resolve(storage.dataDir);
  const { event, secret: { key } } = newKey({ label: "first key" }, { clock: systemClock, randomBytes });
  if (!(await engine.keys.createFirst(event))) {
    return; // Another server was first.
  }
  const program = quoted(process.argv[1] ?? "dist/server.js");
  const isShown = terminal.showKey(
    `first start: made a key on the Free plan; it is shown this once\n\n` +
      `  ${key}\n\n` +
      `  curl -H "Authorization: Bearer ${key}" "${origin}${basePath}/pets"\n\n` +
      (settings.hasConsole ? `  or paste the key into the console: ${origin}/\n\n` : "") +
      `  for a larger plan: node ${program} keys plan ${event.id} --plan pro --data ${quoted(dataDir)}\n\n`,
  );
  if (!isShown) {
    terminal.report("the first key could not be printed; make another with keys create", "warning");
  }
}
