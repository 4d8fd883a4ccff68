/**
 * The API key: what it looks like, what is known of it, and how its secret and its id come about.
 *
 * The secret is what a client sends, `as_` and 43 letters and digits. It is shown once and kept nowhere: whoever knows
 * the file of keys knows only SHA-256 digests, and 256 random bits cannot be guessed from those. The id is what
 * everybody else calls the key by: lists, logs, counters and bans. It is random too, and says nothing of the secret.
 */

import { hash } from "node:crypto";

import { withoutSecrets } from "../http/secrets.ts";

/** The shape of `Plan` in limits/plans.ts, which this room does not import: should they part, nothing compiles. */
export interface KeyPlan {
  readonly name: "free" | "pro" | "business" | "enterprise";
  readonly quota: { readonly perMinute: number; readonly perDay: number };
}

/** The plan of that name. @throws {RangeError} a message for whoever asked, when there is no such plan */
export type CreatePlan = (name: string, quota?: { perMinute?: number; perDay?: number }) => KeyPlan;

/** So many bytes that nobody can foresee: `randomBytes` of node:crypto. */
export type RandomBytes = (byteCount: number) => Uint8Array;

/** What is known of a key. Nothing here is secret. Instants are milliseconds since the Unix epoch. */
export interface ApiKey {
  readonly id: string;
  readonly plan: KeyPlan;
  readonly label: string | undefined;
  readonly createdMs: number;
  /** From this instant on the key is refused. */
  readonly expiresMs: number | undefined;
  readonly revokedMs: number | undefined;
  /** After a rotation with a grace: when the last of the old secrets ceases to work. */
  readonly graceUntilMs: number | undefined;
}

/** What every event has: when it happened, to which key. */
interface Happened {
  readonly timeMs: number;
  readonly id: string;
}

/** What can happen to a key. Digests are SHA-256 in hexadecimal. */
export type KeyEvent =
  | (Happened & {
      readonly event: "made";
      readonly sha256: string;
      readonly plan: KeyPlan;
      readonly label: string | undefined;
      readonly expiresMs: number | undefined;
    })
  | (Happened & { readonly event: "revoked" })
  | (Happened & { readonly event: "plan"; readonly plan: KeyPlan })
  | (Happened & { readonly event: "rotated"; readonly sha256: string; readonly graceUntilMs: number })
  | (Happened & { readonly event: "unbanned" });

export type KeyState = "active" | "rotated" | "expired" | "revoked";

/** `rotated` is active with an old secret that still works. */
export function keyState(key: ApiKey, nowMs: number): KeyState {
  if (key.revokedMs !== undefined) {
    return "revoked";
  }
  if (key.expiresMs !== undefined && nowMs >= key.expiresMs) {
    return "expired";
  }
  return key.graceUntilMs !== undefined && nowMs < key.graceUntilMs ? "rotated" : "active";
}

/** Letters and digits only, without `-` and `_`, so that a double click selects a whole key (contract, section 6). */
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const secretBytes = 32;
const secretForm = /^as_[0-9A-Za-z]{43}$/;

/** `as_` and 43 digits: the only length a secret has. */
export const secretLength = 46;

const idBytes = 11;
const idForm = /^key_[0-9A-Za-z]{15}$/;

/** A new secret of 256 random bits (contract, section 6). */
export function createSecret(randomBytes: RandomBytes): string {
  return `as_${base62(randomBytes(secretBytes))}`;
}

/** A new id of 88 random bits, drawn apart from any secret. */
export function createKeyId(randomBytes: RandomBytes): string {
  return `key_${base62(randomBytes(idBytes))}`;
}

/** Could this be a secret at all? Asked before anything is computed for a stranger. */
export function isSecret(bearerToken: string): boolean {
  return bearerToken.length === secretLength && secretForm.test(bearerToken);
}

export function isKeyId(text: string): boolean {
  return idForm.test(text);
}

/**
 * What is kept of a secret: its SHA-256 in hexadecimal. A slow password hash would buy nothing: those make up for
 * passwords that can be guessed, and 256 random bits cannot be.
 */
export function digestOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/**
 * The bytes as one number to the base of 62, at the width of the greatest such number: 43 digits for 32 bytes, 15 for
 * 11. Different bytes give different texts, so no randomness is lost and no text is likelier than another.
 */
export function base62(bytes: Uint8Array): string {
  let rest = BigInt(`0x00${Buffer.from(bytes).toString("hex")}`);
  const width = Math.ceil((bytes.length * 8) / Math.log2(digits.length));
  let text = "";
  for (let place = 0; place < width; place += 1) {
    text = digits.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** Why a key could not be changed. */
export type KeyFault = "unknown_key" | "revoked_key" | "expired_key" | "key_file_damaged";

/** A change of keys that did not happen, and nothing was written. The message is for the operator. */
export class KeyError extends Error {
  override readonly name = "KeyError";
  readonly code: KeyFault;

  constructor(code: KeyFault, message: string) {
    super(message);
    this.code = code;
  }
}

export const labelCodePointsMax = 64;

/** Assigned and visible or a space: no control, format, surrogate, private or unassigned code point, no line break. */
const printable = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/**
 * The label as it is kept; undefined where it is empty, which is none.
 *
 * @throws {RangeError} when it is longer than `labelCodePointsMax` code points, or not printable (contract, section 1),
 *   or holds a secret
 */
export function checkedLabel(label: string | undefined): string | undefined {
  if (label === undefined || label === "") {
    return undefined;
  }
  // Pasted in the wrong place it would be kept, and shown in every list.
  if (withoutSecrets(label) !== label) {
    throw new RangeError("Cannot label key: the label holds a key, and labels are no secrets");
  }
  if (!printable.test(label) || [...label].length > labelCodePointsMax) {
    throw new RangeError(
      `Cannot label key: a label is at most ${labelCodePointsMax} printable characters, ` +
        `received ${JSON.stringify(label)}`,
    );
  }
  return label;
}

const date = /^\d{4}-\d\d-\d\d$/;
const instant = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The last instant whose year has four digits. */
const lastInstantMs = Date.UTC(10_000, 0) - 1;

/**
 * When a key made now expires: a date, meaning that day's first instant in UTC, or a full instant with its offset
 * (ISO 8601 as RFC 3339 narrows it; seconds may be left out).
 *
 * @throws {RangeError} when it is neither, or not in the future
 */
export function expiryMs(isoDate: string, nowMs: number): number {
  const expiresMs = Date.parse(isoDate);
  const hasForm = date.test(isoDate) || instant.test(isoDate);
  if (!hasForm || !isRealDay(isoDate.slice(0, 10)) || expiresMs > lastInstantMs) {
    throw new RangeError(
      "Cannot set expiry: must be a date such as 2030-01-31 or an instant such as 2030-01-31T12:00:00Z, " +
        `received ${JSON.stringify(isoDate)}`,
    );
  }
  if (expiresMs <= nowMs) {
    throw new RangeError(`Cannot set expiry: must be in the future, received ${JSON.stringify(isoDate)}`);
  }
  return expiresMs;
}

/** Date.parse() takes 30 February for 2 March. */
function isRealDay(isoDay: string): boolean {
  const dayMs = Date.parse(isoDay);
  return !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(isoDay);
}
