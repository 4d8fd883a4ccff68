/**
 * The quota of a key as its responses report it. Only differences of the server's times count, `X-RateLimit-Reset`
 * minus `Date`, or `Retry-After`, so a browser's clock that is wrong harms nothing.
 */

/** What the fields of a response say of the window that has the least left. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds from the response to the reset. */
  readonly leftMs: number;
}

/** Reads the rate fields; undefined if the response has none, as one of a proxy. */
export function readRate(fields: Pick<Headers, "get">, nowMs: number): Rate | undefined {
  const limit = fields.get("X-RateLimit-Limit");
  const sentMs = Date.parse(fields.get("Date") ?? "") || nowMs; // If a proxy has removed it.
  // Some gateways make a date of Retry-After: then the reset counts.
  const leftMs = Number(fields.get("Retry-After")) * 1_000 || Number(fields.get("X-RateLimit-Reset")) * 1_000 - sentMs;
  return limit === null || Number.isNaN(leftMs)
    ? undefined
    : { limit: Number(limit), remaining: Number(fields.get("X-RateLimit-Remaining")), leftMs };
}

/** Whether a fifth or less is left: then the page says so, and searches no further by itself. */
export function isScarce({ limit, remaining }: Pick<Rate, "limit" | "remaining">): boolean {
  return remaining <= limit / 5;
}

/** As the person reads it: with the date, unless that is today. */
export function clockTime(ms: number): string {
  const date = new Date(ms);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, { ...(!isToday && { dateStyle: "medium" }), timeStyle: "medium" });
}
