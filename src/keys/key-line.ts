/**
 * The line grammar of keys.jsonl: one event a line, append only. Applying all events from the first on gives the keys.
 * Each line is synced before the next is written, so an intact line proves that all earlier lines were synced.
 * Members in this order; those with `?` are left out if they do not apply:
 *
 *     {"event":"made","time":…,"id":…,"sha256":…,"plan":…,"perMinute"?:…,"perDay"?:…,"label"?:…,"expires"?:…,
 *         "readOnly"?:true,"crc":…}
 *     {"event":"revoked","time":…,"id":…,"crc":…}
 *     {"event":"plan","time":…,"id":…,"plan":…,"perMinute"?:…,"perDay"?:…,"crc":…}
 *     {"event":"label","time":…,"id":…,"label"?:…,"crc":…}
 *     {"event":"expiry","time":…,"id":…,"expires"?:…,"crc":…}
 *     {"event":"rotated","time":…,"id":…,"sha256":…,"graceUntil":…,"crc":…}
 *     {"event":"unbanned" or "reset","time":…,"id":…,"crc":…}
 *
 * `time`, `expires` and `graceUntil` look like `2026-11-21T12:00:00.000Z`. `sha256` is that of the secret. The numbers
 * of a plan are written for Enterprise only: those of the other plans come from the release that reads the file. `crc`
 * is the checksum of base/checksum.ts.
 */

import { checksumBytes, hasChecksum, type LineFault, lineWithChecksum, viewOf } from "../base/checksum.ts";
import { createPlan, type QuotaChoice } from "../limits/plans.ts";
import { type KeyEvent, keyEvents } from "./key-events.ts";
import { labelCodePointsMax } from "./key-options.ts";
import { isKeyId } from "./key.ts";

/** No line is longer, newline included: its longest text is a label of at most `labelCodePointsMax` code points. */
export const keyLineBytesMax = 1_024;

type EventOf<Name> = Omit<Extract<KeyEvent, { readonly event: Name }>, "event">;
type SomeMembers = Partial<EventOf<"made"> & EventOf<"rotated">>;

/** Returns the line, with checksum and newline. */
export function encodeKeyEvent(event: KeyEvent): string {
  const { sha256, plan, label, expiresMs, isReadOnly, graceUntilMs }: SomeMembers = event;
  const { perMinute, perDay }: QuotaChoice = plan?.name === "enterprise" ? plan : {};
  // JSON.stringify() leaves out members that are undefined.
  return lineWithChecksum(JSON.stringify({
    ...{ event: event.event, time: isoTime(event.timeMs), id: event.id, sha256, plan: plan?.name, perMinute, perDay },
    ...{ label, expires: isoTime(expiresMs), readOnly: isReadOnly || undefined, graceUntil: isoTime(graceUntilMs) },
  }));
}

function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

export type KeyReading = { readonly kind: "event"; readonly event: KeyEvent } | LineFault;

/**
 * Decodes the event in the line [start, end), without its newline. The fault is `wrong` if the checksum matches but
 * this release would not have written exactly these bytes: an unknown event or member might take a right away.
 */
export function decodeKeyEvent(bytes: DataView, start: number, end: number): KeyReading {
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "damage", reason: "its checksum does not match" };
  }
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  try {
    const event = eventOf(JSON.parse(`${line.toString("utf8", 0, line.length - (checksumBytes - 1))}}`) as Members);
    // This finds members that are unknown, repeated, misplaced or of another type.
    if (event !== undefined && line.equals(Buffer.from(encodeKeyEvent(event).slice(0, -1)))) {
      return { kind: "event", event };
    }
  } catch (error) {
    // The line is not JSON, or has an invalid time or an unknown plan.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) {
      throw error;
    }
  }
  return { kind: "wrong", reason: "it is not an event that this release knows; a newer release may have written it" };
}

/** Decodes a line that is given as text, as `decodeKeyEvent` does. */
export function decodeKeyText(line: string): KeyReading {
  const bytes = Buffer.from(line);
  return decodeKeyEvent(viewOf(bytes), 0, bytes.length);
}

type Members = Readonly<Record<string, unknown>>;

function eventOf({ perMinute, perDay, readOnly, ...others }: Members): KeyEvent | undefined {
  if (!Object.values(others).every((value) => typeof value === "string")) {
    return undefined;
  }
  const texts = others as Readonly<Record<string, string>>;
  const { event, time = "", id = "", sha256 = "", plan = "", label, expires, graceUntil = "" } = texts;
  // Only the label's length is checked: which characters are printable depends on the Unicode version of Node.
  if (!isKeyId(id) || !/^([0-9a-f]{64})?$/.test(sha256) || [...(label ?? "")].length > labelCodePointsMax) {
    return undefined;
  }
  if (event === undefined || !Object.hasOwn(keyEvents, event)) {
    return undefined;
  }
  const read: Readonly<Record<string, () => unknown>> = {
    sha256: () => sha256,
    plan: () => createPlan(plan, { perMinute, perDay } as QuotaChoice), // Its numbers are checked.
    label: () => label,
    expiresMs: () => (expires === undefined ? undefined : Date.parse(expires)),
    isReadOnly: () => readOnly === true,
    graceUntilMs: () => Date.parse(graceUntil),
  };
  const name = event as KeyEvent["event"]; // Checked above by `Object.hasOwn`.
  const members = keyEvents[name].members.map((member) => [member, read[member]?.()]);
  return { event: name, timeMs: Date.parse(time), id, ...Object.fromEntries(members) };
}
