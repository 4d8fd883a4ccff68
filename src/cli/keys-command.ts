/**
 * `keys …` on the command line: the operator's hand on the keys, also beside a running server.
 *
 * Standard output carries what was asked for and nothing else, so that `key=$(… keys create)` works; all other words go
 * to standard error. A secret is printed once, when it is made, and stands in nothing else that comes from here.
 */

import type { Clock } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { withoutSecrets } from "../http/secrets.ts";
import type { NewSecret, PlanChoice } from "../keys/key-store.ts";
import { KeyStore } from "../keys/key-store.ts";
import type { ApiKey, CreatePlan, RandomBytes } from "../keys/key.ts";
import { keyState } from "../keys/key.ts";
import type { FlagName, KeysArguments } from "./keys-arguments.ts";
import { helpAsked, readKeysArguments, UsageError } from "./keys-arguments.ts";

export interface KeysCommandContext {
  /** Where `--data` is not given. */
  readonly dataDir: string;
  /** What `--version` prints. */
  readonly version: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly createPlan: CreatePlan;
  readonly randomBytes: RandomBytes;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/**
 * Runs `keys` with the arguments behind that word. Resolves to the exit code: 0 done, 1 not, with one line that says
 * why, 2 for wrong usage (contract, section 1).
 */
export async function runKeysCommand(args: readonly string[], context: KeysCommandContext): Promise<0 | 1 | 2> {
  const help = helpAsked(args);
  if (help !== undefined || args.includes("--version")) {
    context.writeOut(help ?? `${context.version}\n`);
    return 0;
  }
  try {
    await run(readKeysArguments(args), context);
    return 0;
  } catch (error) {
    context.writeError(`${withoutSecrets(error instanceof Error ? error.message : String(error))}\n`);
    return error instanceof UsageError || error instanceof RangeError ? 2 : 1;
  }
}

async function run({ command, id = "", flags }: KeysArguments, context: KeysCommandContext): Promise<void> {
  const { disk, clock, createPlan, randomBytes, writeError } = context;
  const dataDir = flags.get("data") ?? context.dataDir;
  if (dataDir === "") {
    throw new UsageError("Cannot use --data: must name a folder");
  }
  const report = (message: string): void => writeError(`${message}\n`);
  const graceSeconds = integerFlag(flags, "grace");
  const planChoice = choosePlan(flags);
  const store = await KeyStore.open({ disk, clock, dataDir, createPlan, randomBytes, report });
  switch (command) {
    case "create": {
      const made = await store.create({ ...planChoice, label: flags.get("label"), expires: flags.get("expires") });
      return writeSecret("made", made, context);
    }
    case "rotate":
      return writeSecret("rotated", await store.rotate(id, { graceSeconds }), context);
    case "list":
      return context.writeOut(table(await store.list(), clock.wallMs()));
    case "revoke":
      return store.revoke(id);
    case "plan":
      return store.plan(id, { ...planChoice, plan: flags.get("plan") ?? "" });
    case "unban":
      return store.unban(id);
  }
}

function choosePlan(flags: ReadonlyMap<FlagName, string>): PlanChoice {
  return {
    plan: flags.get("plan"),
    perMinute: integerFlag(flags, "per-minute"),
    perDay: integerFlag(flags, "per-day"),
  };
}

/** Decimal digits only; bounds are for whoever uses the number. */
function integerFlag(flags: ReadonlyMap<FlagName, string>, name: FlagName): number | undefined {
  const text = flags.get(name);
  if (text !== undefined && !/^\d{1,15}$/.test(text)) {
    throw new RangeError(`Cannot use --${name}: must be a whole number in digits, received ${JSON.stringify(text)}`);
  }
  return text === undefined ? undefined : Number(text);
}

function writeSecret(what: string, { id, key }: NewSecret, context: KeysCommandContext): void {
  context.writeError(`${what} ${id}; the key itself is shown only now\n`);
  context.writeOut(`${key}\n`);
}

/** A line for each key, without a heading, for people and `awk` alike: only the label, which is last, has spaces. */
function table(keys: readonly ApiKey[], nowMs: number): string {
  const rows = keys.map((key) => cells(key, nowMs));
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
  return lines.map((line) => `${line}\n`).join("");
}

function cells(key: ApiKey, nowMs: number): string[] {
  const { name, quota } = key.plan;
  const expires = key.expiresMs === undefined ? "never" : isoSeconds(key.expiresMs);
  const requests = `${quota.perMinute}/min,${quota.perDay}/day`;
  return [key.id, keyState(key, nowMs), name, requests, isoSeconds(key.createdMs), expires, key.label ?? "-"];
}

function isoSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
