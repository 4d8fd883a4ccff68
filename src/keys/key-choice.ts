/**
 * What a caller may say of a key that is made or changed.
 */

import { showValue } from "../base/redact-secrets.ts";
import type { QuotaChoice } from "../limits/plans.ts";

/** A plan's name, with the numbers for Enterprise only. */
export interface PlanChoice extends QuotaChoice {
  readonly plan?: string | undefined;
}

export interface KeyChoice extends PlanChoice {
  /** At most 64 printable characters. */
  readonly label?: string | undefined;
  /** In the future. As a text: RFC 3339, a date, which means its first instant in UTC, or a time with its offset. */
  readonly expires?: string | Date | undefined;
  /** May list and fetch animals, but not add any (default false). */
  readonly readOnly?: boolean | undefined;
}

export interface NewSecret {
  readonly id: string;
  /** The secret, `as_…`, which cannot be shown again. */
  readonly key: string;
}

export const planOptionNames: readonly string[] = ["plan", "perMinute", "perDay"];
export const choiceNames: readonly string[] = [...planOptionNames, "label", "expires", "readOnly"];
export const rotationNames: readonly string[] = ["graceSeconds"];

/** If an unknown option were ignored, the key would not be what the caller wants. @throws {RangeError} */
export function checkOptions(verb: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new RangeError(`Cannot ${verb} key: options must be an object with ${names.join(", ")}`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot ${verb} key: there is no option ${showValue(unknown)}`);
  }
}
