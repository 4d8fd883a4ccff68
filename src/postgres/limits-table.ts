/**
 * The limits of all keys, between the table of the database and a limiter in memory. The instants of the table are on
 * the database's clock, those of a limiter on its own.
 */

import { type KeyLimits, shifted } from "../limits/key-limits.ts";
import type { MemoryLimiter } from "../limits/memory-limiter.ts";
import type { Query } from "./database.ts";

/** In the order of `LimitsNumbers`. */
const columns = "minute_used, minute_ends, day_used, day_ends, refusals, second_ends, ban_until, ban_ms";

/** The limits of a key, as `take` of functions.ts returns them, too. Instants are Unix milliseconds. */
export type LimitsNumbers = readonly [
  minuteUsed: number,
  minuteEndsMs: number,
  dayUsed: number,
  dayEndsMs: number,
  refusalCount: number,
  secondEndsMs: number,
  banUntilMs: number,
  banMs: number,
];

const readText = `SELECT key_id, to_json(ARRAY[${columns}])::text AS numbers FROM animal_store.limits`;
const writeText = `
INSERT INTO animal_store.limits (key_id, ${columns}, decided_at)
SELECT *, animal_store.clock_ms() FROM unnest(
  $1::text[], $2::int[], $3::bigint[], $4::int[], $5::bigint[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[])`;

/** Adds the limits of the table to the limiter. */
export async function readLimits(query: Query, limiter: MemoryLimiter): Promise<void> {
  const aheadMs = (await databaseNowMs(query)) - limiter.timeline.nowMs();
  for (const row of await query(readText)) {
    const numbers = JSON.parse(String(row["numbers"])) as LimitsNumbers;
    limiter.restore(String(row["key_id"]), shifted(limitsOf(numbers), -aheadMs));
  }
}

/** Adds the limits of the limiter to the table, which has no rows of these keys. */
export async function writeLimits(query: Query, { keys, timeline }: MemoryLimiter): Promise<void> {
  const aheadMs = (await databaseNowMs(query)) - timeline.nowMs();
  const limits = Array.from(keys.values(), (one) => shifted(one, aheadMs));
  await query(writeText, [
    [...keys.keys()],
    limits.map(({ minute }) => minute.used),
    limits.map(({ minute }) => instant(minute.endsMs)),
    limits.map(({ day }) => day.used),
    limits.map(({ day }) => instant(day.endsMs)),
    limits.map(({ ban }) => ban.refusalCount),
    limits.map(({ ban }) => instant(ban.secondEndsMs)),
    limits.map(({ ban }) => instant(ban.untilMs)),
    limits.map(({ ban }) => ban.durationMs),
  ]);
}

export function limitsOf(numbers: LimitsNumbers): KeyLimits {
  const [minuteUsed, minuteEndsMs, dayUsed, dayEndsMs, refusalCount, secondEndsMs, untilMs, durationMs] = numbers;
  return {
    minute: { used: minuteUsed, endsMs: minuteEndsMs },
    day: { used: dayUsed, endsMs: dayEndsMs },
    ban: { refusalCount, secondEndsMs, untilMs, durationMs },
  };
}

async function databaseNowMs(query: Query): Promise<number> {
  const [row] = await query("SELECT animal_store.clock_ms()::text AS now_ms");
  return Number(row?.["now_ms"]);
}

/** In the table, 0 or less is never. */
function instant(unixMs: number): number {
  return Math.max(0, unixMs);
}
