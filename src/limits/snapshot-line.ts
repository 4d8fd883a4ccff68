/**
 * The one line of limits.json:
 *
 *     {"version":1,"savedMs":…,"keyLogBytes":…,"keys":[key, …],"crc":"xxxxxxxx"}
 *
 * with keys as `KeyState` says, and the seal of log/checksum.ts. A sealed line is refused all the same where a number
 * in it cannot be.
 */

import { hasChecksum, lineWithChecksum, viewOf } from "../log/checksum.ts";
import { banDurationMaxMs, refusalCountMax } from "./ban.ts";
import type { LimiterState } from "./entry.ts";
import { quotaMax } from "./plans.ts";

export interface SnapshotState extends LimiterState {
  /** How far in the key file unbans have been applied, in bytes. */
  readonly keyLogBytes: number;
}

const formatVersion = 1;

type Check = (value: unknown) => boolean;
/** The members that an object may have; those in `optional` may be missing. */
interface Shape {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional?: Readonly<Record<string, Check>>;
}

const isInstant: Check = Number.isSafeInteger;
const isBucket: Check = (value) => hasShape(value, { required: { used: upTo(quotaMax), endsMs: isInstant } });

const keyShape: Shape = {
  required: { id: (value) => typeof value === "string" },
  optional: {
    minute: isBucket,
    day: isBucket,
    streak: (value) =>
      hasShape(value, { required: { refusalCount: upTo(refusalCountMax - 1), secondEndsMs: isInstant } }),
    ban: (value) => hasShape(value, { required: { untilMs: isInstant, durationMs: upTo(banDurationMaxMs) } }),
  },
};

const lineShape: Shape = {
  required: {
    version: (value) => value === formatVersion,
    savedMs: isInstant,
    keyLogBytes: upTo(Number.MAX_SAFE_INTEGER),
    keys: (value) => Array.isArray(value) && value.every((key) => hasShape(key, keyShape)),
    crc: (value) => typeof value === "string",
  },
};

export function snapshotLine({ savedMs, keyLogBytes, keys }: SnapshotState): string {
  return lineWithChecksum(JSON.stringify({ version: formatVersion, savedMs, keyLogBytes, keys }));
}

/** What the line says, or a predicate that says why it cannot be used. */
export function readSnapshotLine(bytes: Uint8Array): SnapshotState | string {
  if (bytes.at(-1) !== 0x0a || !hasChecksum(viewOf(bytes), 0, bytes.length - 1)) {
    return "is damaged";
  }
  const value = parse(bytes);
  return isLine(value) ? value : "was written by another release, or by hand,";
}

/** Undefined where it is no JSON. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined; // Sealed, yet no JSON: refused like every other value that we would not write.
  }
}

function isLine(value: unknown): value is SnapshotState {
  return hasShape(value, lineShape);
}

function upTo(max: number): Check {
  return (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max;
}

function hasShape(value: unknown, { required, optional = {} }: Shape): boolean {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const checks = new Map(Object.entries({ ...required, ...optional }));
  const hasAll = Object.keys(required).every((name) => Object.hasOwn(value, name));
  return hasAll && Object.entries(value).every(([name, member]) => checks.get(name)?.(member) === true);
}
