/**
 * The API key: its data, its form, and how its secret and its id are made.
 *
 * The secret is what a client sends. It is shown once and stored nowhere: the key file has only its SHA-256. The id
 * names the key in lists, logs, counters and bans. It is random too, and independent of the secret.
 */

import { hash } from "node:crypto";

import type { Plan } from "../limits/plans.ts";

export type RandomBytes = (byteCount: number) => Uint8Array;

/** A key without its secret. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: string;
  readonly plan: Plan;
  readonly label: string | undefined;
  /** May send safe methods only (RFC 9110, 9.2.1). */
  readonly isReadOnly: boolean;
  readonly createdMs: number;
  /** From then on the key is invalid. */
  readonly expiresMs: number | undefined;
  readonly revokedMs: number | undefined;
  /** After a rotation with a grace period: when the last of the old secrets becomes invalid. */
  readonly graceUntilMs: number | undefined;
}

export type KeyState = "active" | "expired" | "revoked";

export function keyState(key: ApiKey, nowMs: number): KeyState {
  if (key.revokedMs !== undefined) {
    return "revoked";
  }
  return key.expiresMs !== undefined && nowMs >= key.expiresMs ? "expired" : "active";
}

/** Letters and digits only, without `-` and `_`, so that a double click selects a whole key. */
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const secretForm = /^as_[0-9A-Za-z]{43}$/;
export const secretLength = 46;
const idForm = /^key_[0-9A-Za-z]{15}$/;

export function createSecret(randomBytes: RandomBytes): string {
  return `as_${base62(randomBytes(32))}`;
}

export function createKeyId(randomBytes: RandomBytes): string {
  return `key_${base62(randomBytes(11))}`;
}

export function isSecret(bearerToken: string): boolean {
  return secretForm.test(bearerToken);
}

export function isKeyId(text: string): boolean {
  return idForm.test(text);
}

/** SHA-256 in hexadecimal. A slow hash would add nothing: it is for passwords, which can be guessed. */
export function digestOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** The bytes as one number to base 62, padded: 43 digits for 32 bytes, 15 for 11. No randomness is lost. */
function base62(bytes: Uint8Array): string {
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

/** Messages end up in logs, so what is not an id is not repeated: it may be a secret, pasted in the wrong place. */
export function unknownKey(verb: string, id: string): KeyError {
  const text = isKeyId(id) ? `no key has the id "${id}"` : 'not the id of a key ("key_" and 15 letters and digits)';
  return new KeyError("unknown_key", `Cannot ${verb} key: ${text}`);
}

/** A key could not be read or changed. Nothing was written. The message is for the operator. */
export class KeyError extends Error {
  override readonly name = "KeyError";
  readonly code: KeyFault;

  constructor(code: KeyFault, message: string) {
    super(message);
    this.code = code;
  }
}
