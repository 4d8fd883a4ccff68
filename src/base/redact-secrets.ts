/**
 * Keeps API keys out of everything that is written: people put a key in the wrong place (a query, a member name, an
 * argument). All code that repeats what they typed uses these functions.
 */

import { inspect } from "node:util";

/** The form of a key's secret, anywhere in a text: `as_` and 43 letters or digits. */
const secret = /as_[0-9A-Za-z]{43}/g;

/** The text with every secret in it replaced by `as_…`. A secret that was cut is not found: mask first, then cut. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(secret, "as_…");
}

/** The text as one line without API keys: line breaks and other control characters become spaces. */
export function oneLine(text: string): string {
  return withoutSecrets(text).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
}

/** Anything that a caller passed, as text for a message. */
export function showValue(value: unknown): string {
  return withoutSecrets(typeof value === "string" ? JSON.stringify(value) : inspect(value));
}
