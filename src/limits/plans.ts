/** The plans, and a choice among them, checked. The requests of a plan are counted elsewhere. */

import { showValue } from "../base/redact-secrets.ts";

/** The numbers of an Enterprise plan. */
export interface QuotaChoice {
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
}

export type PlanName = "free" | "pro" | "business" | "enterprise";

/** A plan with its requests for each of the two windows, integers from 1 to `quotaMax`. */
export interface Plan {
  readonly name: PlanName;
  readonly perMinute: number;
  readonly perDay: number;
}

/** Every client can read an integer up to this. */
export const quotaMax = 1_000_000_000;

export const publishedQuotas: Readonly<Record<Exclude<PlanName, "enterprise">, Omit<Plan, "name">>> = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};

export const planNames: readonly PlanName[] = ["free", "pro", "business", "enterprise"];

/**
 * Enterprise needs numbers, and the other plans accept none.
 * @param nameOf what the caller calls a number, for messages
 * @throws {RangeError} the name is unknown, or the numbers are missing, superfluous or out of bounds
 */
export function createPlan(
  name: string,
  { perMinute, perDay }: QuotaChoice = {},
  nameOf: (number: keyof QuotaChoice) => string = (number) => number,
): Plan {
  const known = planNames.find((candidate) => candidate === name);
  if (known === undefined) {
    throw new RangeError(`Cannot use plan ${showValue(name)}: must be one of ${planNames.join(", ")}`);
  }
  if (known !== "enterprise") {
    if (perMinute !== undefined || perDay !== undefined) {
      throw new RangeError(`Cannot set the quota of plan "${known}": only enterprise has numbers of its own`);
    }
    return { name: known, ...publishedQuotas[known] };
  }
  return {
    name: known,
    perMinute: checked(nameOf("perMinute"), perMinute),
    perDay: checked(nameOf("perDay"), perDay),
  };
}

function checked(name: string, requestCount: number | undefined): number {
  if (requestCount === undefined || !Number.isInteger(requestCount) || requestCount < 1 || requestCount > quotaMax) {
    const received = requestCount === undefined ? "nothing" : showValue(requestCount);
    throw new RangeError(
      `Cannot use plan "enterprise": ${name} must be an integer from 1 to ${quotaMax}, received ${received}`,
    );
  }
  return requestCount;
}
