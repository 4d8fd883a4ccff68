/**
 * The line grammar of keys.jsonl: one event a line, append only. Applying all events from the first on gives the keys.
 * Each line is synced before the next is written, so a sound line proves that all earlier lines were synced.
 * Members in this order; those with `?` are left out if they do not apply:
 *
 *     {"event":"made","time":…,"id":…,"sha256":…,"plan":…,"perMinute"?:…,"perDay"?:…,"label"?:…,"expires"?:…,"crc":…}
 *     {"event":"revoked","time":…,"id":…,"crc":…}
 *     {"event":"plan","time":…,"id":…,"plan":…,"perMinute"?:…,"perDay"?:…,"crc":…}
 *     {"event":"rotated","time":…,"id":…,"sha256":…,"graceUntil":…,"crc":…}
 *     {"event":"unbanned","time":…,"id":…,"crc":…}
 *
 * `time`, `expires` and `graceUntil` look like `2026-11-21T12:00:00.000Z`. `sha256` is the SHA-256 of the secret in
 * hexadecimal; the secret itself is not in the file. The numbers of a plan are written for Enterprise only: those of
 * the other plans are published, and come from the table of the release that reads the file. `crc` is the checksum of
 * log/checksum.ts.
 */

import { createPlan, type Plan } from "../limits/plans.ts";
import { checksumBytes, hasChecksum, lineWithChecksum } from "../log/checksum.ts";
import type { LineFault } from "../log/reader.ts";
import type { KeyEvent } from "./key.ts";
import { isKeyId, labelCodePointsMax } from "./key.ts";

/** Returns the line of the event, with checksum and newline. */
export function encodeKeyEvent(event: KeyEvent): string {
  const { event: name, id } = event;
  // JSON.stringify() leaves out members that are undefined.
  return lineWithChecksum(JSON.stringify({ event: name, time: isoTime(event.timeMs), id, ...ownMembers(event) }));
}

function ownMembers(event: KeyEvent): object {
  switch (event.event) {
    case "made": {
      const expires = event.expiresMs === undefined ? undefined : isoTime(event.expiresMs);
      return { sha256: event.sha256, ...planMembers(event.plan), label: event.label, expires };
    }
    case "plan":
      return planMembers(event.plan);
    case "rotated":
      return { sha256: event.sha256, graceUntil: isoTime(event.graceUntilMs) };
    case "revoked":
    case "unbanned":
      return {};
  }
}

function planMembers({ name, quota }: Plan): object {
  return name === "enterprise" ? { plan: name, perMinute: quota.perMinute, perDay: quota.perDay } : { plan: name };
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

export type DecodedLine =
  | { readonly kind: "event"; readonly event: KeyEvent }
  | { readonly kind: "fault"; readonly fault: LineFault };

/**
 * Decodes the event in the line [start, end), without its newline. The fault is `damage` if the checksum does not
 * match. It is `wrong` if the checksum matches but this release would not have written exactly these bytes: an unknown
 * event or member is not skipped, because it might take a right away.
 */
export function decodeKeyEvent(bytes: DataView, start: number, end: number): DecodedLine {
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "fault", fault: { kind: "damage", reason: "its checksum does not match" } };
  }
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  const event = readEvent(`${line.toString("utf8", 0, line.length - (checksumBytes - 1))}}`);
  // Encoding the event must give the same bytes: this finds unknown, repeated and misplaced members at once.
  if (event === undefined || !line.equals(Buffer.from(encodeKeyEvent(event).slice(0, -1)))) {
    const reason = "it is not an event that this release knows; a newer release may have written it";
    return { kind: "fault", fault: { kind: "wrong", reason } };
  }
  return { kind: "event", event };
}

function readEvent(json: string): KeyEvent | undefined {
  try {
    return eventOf(new Members(json));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}

function eventOf(members: Members): KeyEvent | undefined {
  const happened = { timeMs: members.instant("time"), id: members.keyId() };
  const event = members.text("event");
  switch (event) {
    case "made": {
      const expiresMs = members.has("expires") ? members.instant("expires") : undefined;
      const plan = members.plan();
      return { event, ...happened, sha256: members.sha256(), plan, label: members.label(), expiresMs };
    }
    case "plan":
      return { event, ...happened, plan: members.plan() };
    case "rotated":
      return { event, ...happened, sha256: members.sha256(), graceUntilMs: members.instant("graceUntil") };
    case "revoked":
    case "unbanned":
      return { event, ...happened };
    default:
      return undefined;
  }
}

/** The members of one line. Each method throws a `SyntaxError` or `RangeError` if the member is not of its type. */
class Members {
  readonly #members: ReadonlyMap<string, unknown>;

  constructor(json: string) {
    const parsed: unknown = JSON.parse(json);
    this.#members = new Map(typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : []);
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  text(name: string): string {
    const value = this.#members.get(name);
    if (typeof value !== "string") {
      throw new SyntaxError(`Cannot read ${name}: it is not a string`);
    }
    return value;
  }

  instant(name: string): number {
    const timeMs = Date.parse(this.text(name));
    if (Number.isNaN(timeMs)) {
      throw new SyntaxError(`Cannot read ${name}: it is not a time`);
    }
    return timeMs;
  }

  keyId(): string {
    return this.#matching("id", isKeyId);
  }

  sha256(): string {
    return this.#matching("sha256", (text) => /^[0-9a-f]{64}$/.test(text));
  }

  /** Checks only the length: which characters are printable depends on the Unicode version of Node. */
  label(): string | undefined {
    return this.has("label") ? this.#matching("label", (text) => [...text].length <= labelCodePointsMax) : undefined;
  }

  plan(): Plan {
    return createPlan(this.text("plan"), { perMinute: this.#number("perMinute"), perDay: this.#number("perDay") });
  }

  /** Returns undefined if there is none. */
  #number(name: string): number | undefined {
    const value = this.#members.get(name);
    return typeof value === "number" ? value : undefined;
  }

  #matching(name: string, isRight: (text: string) => boolean): string {
    const text = this.text(name);
    if (!isRight(text)) {
      throw new SyntaxError(`Cannot read ${name}: it does not have the right form`);
    }
    return text;
  }
}
