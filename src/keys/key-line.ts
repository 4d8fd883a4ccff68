/**
 * The line grammar of keys.jsonl: one event a line, append only. Applying all events from the first on gives the keys.
 * Each line is synced before the next is written, so a sound line proves that all earlier lines were synced.
 * Members in this order; those with `?` are left out if they do not apply:
 *
 *     {"event":"made","time":…,"id":…,"sha256":…,"plan":…,"perMinute"?:…,"perDay"?:…,"label"?:…,"expires"?:…,
 *         "readOnly"?:true,"crc":…}
 *     {"event":"revoked","time":…,"id":…,"crc":…}
 *     {"event":"plan","time":…,"id":…,"plan":…,"perMinute"?:…,"perDay"?:…,"crc":…}
 *     {"event":"rotated","time":…,"id":…,"sha256":…,"graceUntil":…,"crc":…}
 *     {"event":"unbanned" or "reset","time":…,"id":…,"crc":…}
 *
 * `time`, `expires` and `graceUntil` look like `2026-11-21T12:00:00.000Z`. `sha256` is that of the secret. The numbers
 * of a plan are written for Enterprise only: those of the other plans come from the release that reads the file. `crc`
 * is the checksum of log/checksum.ts.
 */

import { createPlan, type Plan, type Quota } from "../limits/plans.ts";
import { checksumBytes, hasChecksum, lineWithChecksum } from "../log/checksum.ts";
import type { LineFault } from "../log/reader.ts";
import type { KeyEvent } from "./key.ts";
import { isKeyId, labelCodePointsMax } from "./key.ts";

/** No line is longer, with its newline: a label has at most 256 bytes. */
export const keyLineBytesMax = 1_024;

type MembersOf<Name> = Omit<Extract<KeyEvent, { readonly event: Name }>, "event">;
type SomeMembers = Partial<MembersOf<"made"> & MembersOf<"rotated">>;

/** Returns the line, with checksum and newline. */
export function encodeKeyEvent(event: KeyEvent): string {
  const { sha256, plan, label, expiresMs, isReadOnly, graceUntilMs }: SomeMembers = event;
  const { perMinute, perDay }: Partial<Quota> = plan?.name === "enterprise" ? plan.quota : {};
  // JSON.stringify() leaves out members that are undefined.
  return lineWithChecksum(JSON.stringify({
    ...{ event: event.event, time: isoTime(event.timeMs), id: event.id, sha256, plan: plan?.name, perMinute, perDay },
    ...{ label, expires: isoTime(expiresMs), readOnly: isReadOnly || undefined, graceUntil: isoTime(graceUntilMs) },
  }));
}

function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

/**
 * Decodes the event in the line [start, end), without its newline. It is `wrong` if the checksum matches but this
 * release would not have written exactly these bytes: an unknown event or member might take a right away.
 */
export function decodeKeyEvent(bytes: DataView, start: number, end: number): KeyEvent | LineFault {
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "damage", reason: "its checksum does not match" };
  }
  const reason = "it is not an event that this release knows; a newer release may have written it";
  return readEvent(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)) ?? { kind: "wrong", reason };
}

function readEvent(line: Buffer): KeyEvent | undefined {
  try {
    const event = eventOf(JSON.parse(`${line.toString("utf8", 0, line.length - (checksumBytes - 1))}}`) as Members);
    // This finds members that are unknown, repeated, misplaced or of another type.
    const isSame = event !== undefined && line.equals(Buffer.from(encodeKeyEvent(event).slice(0, -1)));
    return isSame ? event : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      return undefined; // It is not JSON, a time is none, or there is no such plan.
    }
    throw error;
  }
}

type Members = Readonly<Record<string, unknown>>;

function eventOf(members: Members): KeyEvent | undefined {
  const { event, time, id, sha256, label, expires, readOnly, graceUntil, ...plan } = members;
  const happened = { timeMs: Date.parse(textOf(time)), id: textOf(id) };
  const digest = textOf(sha256);
  if (!isKeyId(happened.id) || (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(digest))) {
    return undefined;
  }
  switch (event) {
    case "made": {
      const expiresMs = expires === undefined ? undefined : Date.parse(textOf(expires));
      const isReadOnly = readOnly === true;
      return { event, ...happened, sha256: digest, plan: planOf(plan), label: labelOf(label), expiresMs, isReadOnly };
    }
    case "plan":
      return { event, ...happened, plan: planOf(plan) };
    case "rotated":
      return { event, ...happened, sha256: digest, graceUntilMs: Date.parse(textOf(graceUntil)) };
    case "revoked":
    case "unbanned":
    case "reset":
      return { event, ...happened };
    default:
      return undefined;
  }
}

/** @throws {RangeError} there is no such plan */
function planOf({ plan, perMinute, perDay }: Members): Plan {
  const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return createPlan(textOf(plan), { perMinute: numberOf(perMinute), perDay: numberOf(perDay) });
}

/** Checks only the length: which characters are printable depends on the Unicode version of Node. */
function labelOf(label: unknown): string | undefined {
  const text = label === undefined ? undefined : textOf(label);
  if (text !== undefined && [...text].length > labelCodePointsMax) {
    throw new RangeError(`Cannot read label: it has more than ${labelCodePointsMax} characters`);
  }
  return text;
}

/** A value that is no text becomes "", which is encoded to other bytes. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
