/**
 * Converts the limits of keys between the rows of the table and a limiter in memory. The table's instants are on the
 * database's clock, a limiter's on its own.
 */

import type { Clock } from "../base/clock.ts";
import { type KeyLimits, withInstants } from "../limits/key-limits.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import type { Query } from "./database.ts";

const columns = [
  "minute_used", "minute_ends", "day_used", "day_ends", "refusals", "second_ends", "ban_until", "ban_ms", "last_at",
];

export const limitsColumns = columns.join(", ");

/** The values of the columns, in order, as `take` of functions.ts returns them. Instants are Unix milliseconds. */
export type LimitsNumbers = readonly [number, number, number, number, number, number, number, number, number];

const readText = `SELECT key_id, to_json(ARRAY[${limitsColumns}])::text AS numbers FROM animal_store.limits`;
const writeText = `INSERT INTO animal_store.limits (key_id, ${limitsColumns}, decided_at)
SELECT key_id, ${limitsColumns}, animal_store.clock_ms() FROM json_populate_recordset(NULL::animal_store.limits, $1)`;

export async function readLimits(query: Query, clock: Clock): Promise<MemoryLimiter> {
  const limiter = new MemoryLimiter({ clock });
  const aheadMs = (await databaseNowMs(query)) - limiter.clockMapping.nowMs();
  for (const row of await query(readText)) {
    const numbers = JSON.parse(String(row["numbers"])) as LimitsNumbers;
    limiter.keys.set(String(row["key_id"]), withInstants(limitsOf(numbers), (ms) => ms - aheadMs));
  }
  return limiter;
}

/** Writes the limits of a limiter to the table, which must not have rows of these keys yet. */
export async function writeLimits(query: Query, { keys, clockMapping }: MemoryLimiter): Promise<void> {
  const aheadMs = (await databaseNowMs(query)) - clockMapping.nowMs();
  const rows = Array.from(keys, ([keyId, limits]) => {
    const numbers = numbersOf(withInstants(limits, (ms) => ms + aheadMs));
    const entries = columns.map((name, place) => [name, Math.max(0, numbers[place]!)]); // 0 or less means never.
    return { key_id: keyId, ...Object.fromEntries(entries) };
  });
  await query(writeText, [JSON.stringify(rows)]);
}

export function limitsOf(numbers: LimitsNumbers): KeyLimits {
  const [minuteUsed, minuteEndsMs, dayUsed, dayEndsMs, refusalCount, secondEndsMs, untilMs, durationMs, last] = numbers;
  return {
    minute: { used: minuteUsed, endsMs: minuteEndsMs },
    day: { used: dayUsed, endsMs: dayEndsMs },
    ban: { refusalCount, secondEndsMs, untilMs, durationMs },
    lastMs: last || -Infinity,
  };
}

function numbersOf({ minute, day, ban, lastMs }: KeyLimits): LimitsNumbers {
  const { refusalCount, secondEndsMs, untilMs, durationMs } = ban;
  return [minute.used, minute.endsMs, day.used, day.endsMs, refusalCount, secondEndsMs, untilMs, durationMs, lastMs];
}

async function databaseNowMs(query: Query): Promise<number> {
  const [row] = await query("SELECT animal_store.clock_ms()::text AS now_ms");
  return Number(row?.["now_ms"]);
}
