import { ownCopy } from "../base/texts.ts";
import { showValue, withoutSecrets } from "../base/redact-secrets.ts";

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
  return ownCopy(label);
}
