/**
 * `keys …`: changes the keys of a data folder or a database, also beside running servers.
 *
 * Standard output has only the result, so that `key=$(… keys create)` works; everything else goes to standard error. A
 * secret is printed once, when it is made. What is given as an id may be a secret, so messages repeat it only if it has
 * the form of an id.
 */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { type Clock, systemClock } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { KeyStore, type NewSecret, type PlanChoice } from "../keys/key-store.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import type { RandomBytes } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import { limitsFileName, readSavedLimits, restoreLimits } from "../limits/limits-file.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { type Storage, readStorage } from "./settings.ts";
import { exitDone, type Terminal } from "./terminal.ts";

type FlagName =
  | ("data" | "database" | "plan" | "per-minute" | "per-day")
  | ("label" | "expires" | "read-only" | "grace" | "json");

interface Command {
  readonly takesId: boolean;
  readonly flags: readonly FlagName[];
  readonly run: (invocation: Invocation) => Promise<void>;
}

interface Invocation {
  /** "" for a command that takes none. */
  readonly id: string;
  readonly flags: ReadonlyMap<FlagName, string>;
  readonly store: KeyStore;
  readonly terminal: Terminal;
  readonly storage: Storage;
}

export interface KeysDependencies {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

const commands: Readonly<Record<string, Command>> = {
  create: { takesId: false, flags: ["plan", "per-minute", "per-day", "label", "expires", "read-only"], run: create },
  list: { takesId: false, flags: ["json"], run: list },
  revoke: { takesId: true, flags: [], run: revoke },
  plan: { takesId: true, flags: ["plan", "per-minute", "per-day"], run: changePlan },
  rotate: { takesId: true, flags: ["grace"], run: rotate },
  unban: { takesId: true, flags: [], run: unban },
  reset: { takesId: true, flags: [], run: reset },
};

/** Takes what follows the word `keys`. Resolves to the exit code. @throws {UsageError} @throws {Error} it failed */
export async function keys(
  args: readonly string[],
  terminal: Terminal,
  dependencies: KeysDependencies = { disk: nodeDisk, clock: systemClock, randomBytes },
): Promise<number> {
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const names = Object.keys(commands).join(", ");
    throw new UsageError(`Cannot run keys: the next word must be one of ${names}; see keys --help`);
  }
  const { values: flags, operands } = parseFlags(rest, ["data", "database", ...command.flags], ["json", "read-only"]);
  if (operands.length !== (command.takesId ? 1 : 0)) {
    const takes = command.takesId ? `takes one ID, received ${operands.length || "none"}` : "takes flags only";
    throw new UsageError(`Cannot run keys ${name}: it ${takes}; see keys ${name} --help`);
  }
  const storage = readStorage(flags, terminal.environment);
  try {
    const report = (message: string): void => terminal.stderr(`${message}\n`);
    await withKeys(storage, { ...dependencies, report }, (store) => {
      return command.run({ id: operands[0] ?? "", flags, store, terminal, storage });
    });
    return exitDone;
  } catch (error) {
    if (!(error instanceof RangeError)) {
      throw error;
    }
    // A plan, label, expiry or grace. The library names its own options.
    throw new UsageError(error.message.replace("perMinute", "--per-minute").replace("perDay", "--per-day"));
  }
}

async function withKeys(
  storage: Storage,
  options: KeysDependencies & { readonly report: (message: string) => void },
  use: (store: KeyStore) => Promise<void>,
): Promise<void> {
  if (storage.kind === "database") {
    const { withDatabase } = await import("./database.ts");
    const { openKeys } = await import("../postgres/postgres-engine.ts");
    return withDatabase(storage, async (database) => use(await openKeys({ ...options, database })));
  }
  const { dataDir } = storage;
  const readLimits = async (keyring: Keyring): Promise<MemoryLimiter> => {
    const limiter = new MemoryLimiter(options);
    const saved = await readSavedLimits(options.disk, dataDir);
    if (typeof saved === "string") {
      options.report(`warning: ${limitsFileName} ${saved}; used requests and bans are not shown`);
    } else if (saved !== undefined) {
      restoreLimits(limiter, saved, keyring);
    }
    return limiter;
  };
  return use(await KeyStore.open({ ...options, dataDir, readLimits }));
}

async function create({ flags, store, terminal, storage }: Invocation): Promise<void> {
  const readOnly = flags.has("read-only");
  const choice = { ...chosenPlan(flags), label: flags.get("label"), expires: flags.get("expires"), readOnly };
  showSecret("made", await store.create(choice), storage, terminal);
}

async function rotate({ id, flags, store, terminal, storage }: Invocation): Promise<void> {
  const graceSeconds = integerFlag(flags, "grace");
  showSecret("rotated", await store.rotate(id, { graceSeconds }), storage, terminal);
}

async function revoke({ id, store, terminal }: Invocation): Promise<void> {
  terminal.report((await store.revoke(id)) ? `revoked ${id}` : `${id} was revoked already`);
}

async function unban({ id, store, terminal }: Invocation): Promise<void> {
  const isBanned = (await store.list()).some((key) => key.id === id && key.bannedUntil !== null);
  await store.unban(id);
  terminal.report(isBanned ? `lifted the ban of ${id}` : `${id} was not banned when its limits were last saved`);
}

async function reset({ id, store, terminal }: Invocation): Promise<void> {
  await store.reset(id);
  terminal.report(`both windows of ${id} are full, and it is not banned`);
}

async function changePlan({ id, flags, store, terminal }: Invocation): Promise<void> {
  const plan = flags.get("plan");
  if (plan === undefined) {
    throw new UsageError("Cannot run keys plan: --plan is missing; see keys plan --help");
  }
  const isChanged = await store.plan(id, { ...chosenPlan(flags), plan });
  terminal.report(isChanged ? `${id} is on the plan ${plan}` : `${id} was on the plan ${plan} already`);
}

function chosenPlan(flags: ReadonlyMap<FlagName, string>): PlanChoice {
  return {
    plan: flags.get("plan"),
    perMinute: integerFlag(flags, "per-minute"),
    perDay: integerFlag(flags, "per-day"),
  };
}

/** Accepts decimal digits only. The caller checks the bounds. */
function integerFlag(flags: ReadonlyMap<FlagName, string>, name: FlagName): number | undefined {
  const text = flags.get(name);
  const fault = /^\d{16,}$/.test(text ?? "0") ? "a number out of range" : "must be a whole number in digits";
  if (text !== undefined && !/^\d{1,15}$/.test(text)) {
    throw new UsageError(`Cannot use --${name}: ${fault}, received ${JSON.stringify(text)}`);
  }
  return text === undefined ? undefined : Number(text);
}

/**
 * If the key is lost before it is used, the id in the first line says which key to revoke or rotate. The storage is
 * shown because with a mistyped folder a new one was made, and the server does not know the key.
 */
function showSecret(what: string, { id, key }: NewSecret, storage: Storage, terminal: Terminal): void {
  const where = storage.kind === "folder" ? resolve(storage.dataDir) : storage.cited;
  terminal.stderr(`${what} ${id} in ${where}; the key itself is shown only once\n`);
  terminal.showKey(`${key}\n`);
}

async function list({ store, terminal, flags, storage }: Invocation): Promise<void> {
  const keys = await store.list();
  if (keys.length === 0) {
    terminal.stderr(`no keys in ${storage.kind === "folder" ? storage.dataDir : "the database"}\n`);
    return;
  }
  if (flags.has("json")) {
    terminal.stdout(keys.map((key) => `${JSON.stringify(key)}\n`).join(""));
  } else {
    terminal.stdout(table([...(terminal.isInteractive ? [heads] : []), ...keys.map(cells)]));
  }
}

const heads = ["ID", "STATE", "PLAN", "ACCESS", "MINUTE", "DAY", "BANNED UNTIL", "CREATED", "EXPIRES", "LABEL"];

function cells({ id, state, plan, readOnly, minute, day, created, ...others }: KeySummary): readonly string[] {
  const counts = [minute, day].map(({ used, limit }) => `${used}/${limit}`);
  const { bannedUntil, expires, label } = others;
  const access = readOnly ? "read-only" : "full";
  return [id, state, plan, access, ...counts, bannedUntil ?? "-", created, expires ?? "never", label ?? "-"];
}

/** Aligned columns, for people and `awk` alike: only the label, which is last, has spaces. */
function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
  return lines.map((line) => `${line}\n`).join("");
}
