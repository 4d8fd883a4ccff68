/**
 * The quota of a key as its responses report it: `GET /limits` has both windows, header fields have one. The page shows
 * the last report of each. Only differences of the server's times count (`X-RateLimit-Reset` minus `Date`, or
 * `Retry-After`), so a browser's clock that is wrong harms nothing.
 */

export interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** As the service said it, in Unix seconds. The same in every response of a window. */
  readonly reset: number;
  /** The same instant by the browser's clock. */
  readonly endsAtMs: number;
}

export interface Quota {
  readonly minute: Window;
  readonly day: Window;
}

/** The content of `GET /limits`, as `parseExact` reads it: numbers are texts. */
export interface Limits {
  readonly plan: string;
  readonly readOnly: boolean;
  readonly minute: ShownWindow;
  readonly day: ShownWindow;
}

type ShownWindow = Readonly<Record<"limit" | "remaining" | "reset", string>>;

/** What the fields of a response say of one window. */
export interface Rate extends Omit<Window, "endsAtMs"> {
  /** Milliseconds from the response to the reset. */
  readonly leftMs: number;
}

type Fields = Pick<Headers, "get">;

/** A window is no longer than this, whatever the roundings show: `Reset` is rounded up, `Date` down. */
const windowMs = { minute: 60_000, day: 86_400_000 } as const;

/** The longest time to a minute's reset that a response can show. */
const minuteMsMax = windowMs.minute + 2_000;

/** Whether it is what `GET /limits` promises: a proxy may have made it. */
export function isLimits(body: unknown): body is Limits {
  const { plan, minute, day } = body as Partial<Limits>;
  return typeof plan === "string" && [minute, day].every((window) => Number(window?.limit) > 0);
}

/** Reads the rate fields; undefined if the response has none, as one of a proxy. */
export function readRate(fields: Fields, nowMs: number): Rate | undefined {
  const limit = fields.get("X-RateLimit-Limit");
  const reset = Number(fields.get("X-RateLimit-Reset"));
  // Some gateways make a date of Retry-After: then the reset counts.
  const leftMs = Number(fields.get("Retry-After")) * 1_000 || reset * 1_000 - sentMs(fields, nowMs);
  return limit === null || Number.isNaN(leftMs)
    ? undefined
    : { limit: Number(limit), remaining: Number(fields.get("X-RateLimit-Remaining")), reset, leftMs };
}

export function readLimits({ minute, day }: Limits, fields: Fields, nowMs: number): Quota {
  const read = ({ limit, remaining, reset }: ShownWindow, msMax: number): Window => ({
    limit: Number(limit),
    remaining: Number(remaining),
    reset: Number(reset),
    endsAtMs: nowMs + Math.min(Number(reset) * 1_000 - sentMs(fields, nowMs), msMax),
  });
  return { minute: read(minute, windowMs.minute), day: read(day, windowMs.day) };
}

/**
 * The quota after a response whose fields report one window; undefined if that is neither of the two: the plan has
 * changed, and `GET /limits` will say how.
 */
export function afterResponse(quota: Quota, rate: Rate, nowMs: number): Quota | undefined {
  const { limit, remaining, reset, leftMs } = rate;
  const isDay = limit === quota.day.limit && (leftMs > minuteMsMax || reset === quota.day.reset);
  const name = isDay ? "day" : "minute";
  const known = quota[name];
  if (limit !== known.limit || (!isDay && leftMs > minuteMsMax)) {
    return undefined;
  }
  // The end of a window stays, so that roundings do not make its countdown jump.
  const endsAtMs = reset === known.reset ? known.endsAtMs : nowMs + Math.min(leftMs, windowMs[name]);
  return { ...quota, [name]: { limit, remaining, reset, endsAtMs } };
}

/**
 * Whether a key has so many requests left, in its minute and its day, that a search may take some.
 * @param dayLeft what the day has left, by counting: the last fields may be those of the minute
 */
export function hasSpare({ minute, day }: Quota, dayLeft: number): boolean {
  return minute.remaining > 10 && Math.min(day.remaining, dayLeft) > day.limit / 10;
}

/** Whole seconds, rounded up, in the two largest units: "42 s", "14 min 5 s", "23 h 59 min"; without zeros: "1 min". */
export function countdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  const parts = [`${Math.floor(seconds / 3_600)} h`, `${Math.floor(seconds / 60) % 60} min`, `${seconds % 60} s`];
  const first = seconds < 60 ? 2 : seconds < 3_600 ? 1 : 0;
  return parts.slice(first, first + 2).join(" ").replace(/ 0 \w+$/, "");
}

/** As the person reads it: with the date, unless that is today. */
export function clockTime(ms: number): string {
  const date = new Date(ms);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, { ...(!isToday && { dateStyle: "medium" }), timeStyle: "medium" });
}

/** If a proxy has removed `Date`, the browser's clock has to do. */
function sentMs(fields: Fields, nowMs: number): number {
  return Date.parse(fields.get("Date") ?? "") || nowMs;
}
