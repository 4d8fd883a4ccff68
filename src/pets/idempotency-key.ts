/**
 * The `Idempotency-Key` field of a request that writes (draft-ietf-httpapi-idempotency-key-header):
 *
 *     Idempotency-Key = word / quoted
 *     word            = 1*255( %x21 / %x23-7E )                            ; visible ASCII, without a quotation mark
 *     quoted          = DQUOTE 1*255( %x21 / %x23-5B / %x5D-7E / "\" ( DQUOTE / "\" ) ) DQUOTE
 *
 * The draft asks for the quoted form (RFC 9651, 3.3.3), but many clients send the bare word. Node joins two fields with
 * a comma and a space, which neither form allows, so two fields are refused.
 */

import { hash } from "node:crypto";

export const idempotencyKeyCharactersMax = 255;

/** How long a store remembers a hash, at least. In SQL it is `onceAge` in postgres/functions.ts. */
export const idempotencyHours = 24;

const word = /^[!#-~]+$/;
const quoted = /^"((?:[!#-[\]-~]|\\["\\])+)"$/;

/** The value of the field; undefined if the field has neither form. */
export function readIdempotencyKey(field: string): string | undefined {
  const value = quoted.exec(field)?.[1]?.replace(/\\(.)/g, "$1") ?? (word.test(field) ? field : undefined);
  return value === undefined || value.length > idempotencyKeyCharactersMax ? undefined : value;
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/**
 * What a store remembers: 128 bits of SHA-256 over the API key's id and the value, as 22 characters of base64url. So
 * keys do not share values, and the log shows none. A Buffer of those bits would take twice as long: the last character
 * has two of them, and four zeros.
 */
export function idempotencyHash(keyId: string, value: string): string {
  const digest = hash("sha256", `${keyId}\n${value}`, "base64url");
  return digest.slice(0, 21) + base64url.charAt(base64url.indexOf(digest.charAt(21)) & 0b110000);
}
