/** Checks what a caller chooses for a key: its expiry and its label. */

import { showValue, withoutSecrets } from "../base/redact-secrets.ts";
import { detachedCopy } from "../base/texts.ts";

const instant = /^\d{4}-\d\d-\d\d(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$/;

/** The last instant whose year has four digits. */
const lastInstantMs = Date.UTC(10_000, 0) - 1;

/**
 * Returns the expiry in Unix milliseconds.
 * @param expires a date, which means its first instant in UTC, or a time with its offset (RFC 3339, seconds optional)
 * @throws {RangeError} it is neither, or not in the future
 */
export function expiryMs(expires: string | Date, nowMs: number): number {
  const isoDate = expires instanceof Date ? expires.toJSON() : expires;
  const hasForm = typeof isoDate === "string" && instant.test(isoDate);
  const day = hasForm ? isoDate.slice(0, 10) : "";
  // Date.parse() takes 30 February for 2 March. Of an invalid Date, toJSON() returns null.
  const isReal = hasForm && new Date(day).toJSON()?.startsWith(day);
  const expiresMs = isReal ? Date.parse(isoDate) : NaN;
  if (!isReal || expiresMs > lastInstantMs) {
    throw new RangeError(
      "Cannot set expiry: must be a date such as 2030-01-31 or an instant such as 2030-01-31T12:00:00Z, " +
        `received ${showValue(expires)}`,
    );
  }
  if (expiresMs <= nowMs) {
    throw new RangeError(`Cannot set expiry: must be in the future, received ${showValue(isoDate)}`);
  }
  return expiresMs;
}

export const labelCodePointsMax = 64;

/** No control, format, surrogate, private or unassigned code point, and no line separator. */
const printable = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/** Returns the label; undefined if it is empty. @throws {RangeError} */
export function checkedLabel(label: string | undefined): string | undefined {
  if (label === undefined || label === "") {
    return undefined;
  }
  // A secret pasted in the wrong place would be stored, and shown in every list.
  if (typeof label === "string" && withoutSecrets(label) !== label) {
    throw new RangeError("Cannot label key: the label contains a key");
  }
  if (typeof label !== "string" || !printable.test(label) || [...label].length > labelCodePointsMax) {
    const rule = `a label is at most ${labelCodePointsMax} printable characters`;
    throw new RangeError(`Cannot label key: ${rule}, received ${showValue(label)}`);
  }
  return detachedCopy(label);
}
