/**
 * `keys …`: changes the keys of a data folder or a database. If a process holds the folder, it makes the change.
 *
 * Standard output has only the result, so that `key=$(… keys create)` works; everything else goes to standard error. A
 * secret is printed once, when it is made. What is given as an id may be a secret, so messages repeat it only if it has
 * the form of an id.
 */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { systemClock } from "../base/clock.ts";
import { oneLine } from "../base/redact-secrets.ts";
import type { Surroundings } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { folderKeys } from "../folder/folder-keys.ts";
import { isoSeconds, type KeySummary } from "../keys/key-summary.ts";
import { unknownKey } from "../keys/key.ts";
import { type KeyDecider, Keys, type KeysOptions, type NewSecret, type PlanChoice } from "../keys/keys.ts";
import { createPlan, type PlanName, type QuotaChoice } from "../limits/plans.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { type Storage, readStorage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

type FlagName =
  | ("data" | "database" | "plan" | "per-minute" | "per-day")
  | ("label" | "expires" | "read-only" | "grace" | "json");

interface Command {
  /** The names of the operands. An id comes first. */
  readonly operands: readonly string[];
  readonly flags: readonly FlagName[];
  readonly run: (invocation: Invocation) => Promise<void>;
}

interface Invocation {
  /** "" for a command that takes none. */
  readonly id: string;
  /** What follows the id; "" for a command that takes nothing there. */
  readonly value: string;
  readonly flags: ReadonlyMap<FlagName, string>;
  readonly store: Keys;
  readonly terminal: Terminal;
  readonly storage: Storage;
}

export type KeysDependencies = Omit<Surroundings, "report"> & KeysOptions;

const commands: Readonly<Record<string, Command>> = {
  create: { operands: [], flags: ["plan", "per-minute", "per-day", "label", "expires", "read-only"], run: create },
  list: { operands: [], flags: ["json"], run: list },
  show: { operands: ["ID"], flags: ["json"], run: show },
  revoke: { operands: ["ID"], flags: [], run: revoke },
  plan: { operands: ["ID"], flags: ["plan", "per-minute", "per-day"], run: changePlan },
  label: { operands: ["ID", "LABEL"], flags: [], run: changeLabel },
  expire: { operands: ["ID", "DATE"], flags: [], run: changeExpiry },
  rotate: { operands: ["ID"], flags: ["grace"], run: rotate },
  unban: { operands: ["ID"], flags: [], run: unban },
  reset: { operands: ["ID"], flags: [], run: reset },
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
  if (operands.length !== command.operands.length) {
    const [what, count] = [command.operands.join(" and one "), operands.length || "none"];
    const takes = what === "" ? "takes flags only" : `takes one ${what}, received ${count}`;
    throw new UsageError(`Cannot run keys ${name}: it ${takes}; see keys ${name} --help`);
  }
  const storage = readStorage(flags, terminal.environment);
  const [id = "", value = ""] = operands;
  try {
    const decider = await openDecider(storage, dependencies, terminal);
    await command.run({ id, value, flags, store: new Keys(decider, dependencies), terminal, storage });
    return exitDone;
  } catch (error) {
    if (!(error instanceof RangeError)) {
      throw error;
    }
    throw new UsageError(error.message); // The plan, label, expiry or grace is invalid.
  }
}

async function openDecider(storage: Storage, options: KeysDependencies, terminal: Terminal): Promise<KeyDecider> {
  if (storage.kind === "folder") {
    return folderKeys({ ...options, dataDir: storage.dataDir, report: workReport(terminal) });
  }
  const { databaseKeys } = await import("./database.ts");
  return databaseKeys(storage, terminal.report);
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
  terminal.report(isBanned ? `lifted the ban of ${id}` : `${id} was not banned`);
}

async function reset({ id, store, terminal }: Invocation): Promise<void> {
  await store.reset(id);
  terminal.report(`both quotas of ${id} are unused, and it is not banned`);
}

async function changePlan({ id, flags, store, terminal }: Invocation): Promise<void> {
  if (!flags.has("plan")) {
    throw new UsageError("Cannot run keys plan: --plan is missing; see keys plan --help");
  }
  const choice = chosenPlan(flags);
  const isChanged = await store.plan(id, choice);
  terminal.report(isChanged ? `${id} is on the plan ${choice.plan}` : `${id} was on the plan ${choice.plan} already`);
}

async function changeLabel({ id, value, store, terminal }: Invocation): Promise<void> {
  const label = value === "" ? "no label" : `the label ${JSON.stringify(value)}`;
  terminal.report((await store.label(id, value)) ? `${id} has ${label}` : `${id} had ${label} already`);
}

async function changeExpiry({ id, value, store, terminal }: Invocation): Promise<void> {
  const isChanged = await store.expire(id, value);
  const expiry = value === "never" ? "no expiry" : `the expiry ${isoSeconds(Date.parse(value))}`;
  terminal.report(isChanged ? `${id} has ${expiry}` : `${id} had ${expiry} already`);
}

/** Checked here, so that messages name the flags. @throws {RangeError} */
function chosenPlan(flags: ReadonlyMap<FlagName, string>): PlanChoice & { readonly plan: PlanName } {
  const quota = { perMinute: integerFlag(flags, "per-minute"), perDay: integerFlag(flags, "per-day") };
  const nameOf = (number: keyof QuotaChoice): string => (number === "perMinute" ? "--per-minute" : "--per-day");
  const { name } = createPlan(flags.get("plan") ?? "free", quota, nameOf);
  return { plan: name, ...quota };
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
    terminal.stderr(`no keys in ${storage.kind === "folder" ? resolve(storage.dataDir) : "the database"}\n`);
    return;
  }
  if (flags.has("json")) {
    terminal.stdout(keys.map((key) => `${JSON.stringify(key)}\n`).join(""));
  } else {
    terminal.stdout(table([heads, ...keys.map(cells)]));
  }
}

/** Also prints the end of a grace period, which a list has no column for. */
async function show({ id, store, terminal, flags }: Invocation): Promise<void> {
  const key = (await store.list()).find((one) => one.id === id);
  if (key === undefined) {
    throw unknownKey("show", id);
  }
  const lines = cells(key).map((cell, index) => [heads[index] ?? "", cell]);
  const graceLine = ["OLD KEYS WORK UNTIL", key.graceUntil ?? "-"];
  terminal.stdout(flags.has("json") ? `${JSON.stringify(key)}\n` : table([...lines, graceLine]));
}

const heads = [
  ...["ID", "STATE", "PLAN", "ACCESS", "USED A MINUTE", "USED A DAY", "BANNED UNTIL"],
  ...["LAST REQUEST", "CREATED", "EXPIRES", "LABEL"],
];

function cells({ id, state, plan, readOnly, minute, day, created, ...others }: KeySummary): readonly string[] {
  const counts = [minute, day].map(({ used, limit }) => `${used} of ${limit}`);
  const { bannedUntil, lastRequest, expires, label } = others;
  const access = readOnly ? "read-only" : "full access";
  const times = [bannedUntil ?? "-", lastRequest ?? "-", created, expires ?? "never"];
  return [id, state, plan, access, ...counts, ...times, label ?? "-"];
}

/** Aligned columns for people, in which no label controls the terminal. Programs read `--json`. */
function table(found: readonly (readonly string[])[]): string {
  const rows = found.map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
  return lines.map((line) => `${line}\n`).join("");
}
