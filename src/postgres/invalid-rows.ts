/** Rows that no release writes, but a hand may: no start looks for them, and no data folder can have them. */

import { members, petStatuses } from "../pets/members.ts";
import type { ChangedTo } from "./catalogue-functions.ts";
import type { Query } from "./database.ts";

const statuses = petStatuses.map((status) => `'${status}'`).join(", ");

const oddTexts = members
  .filter((member) => member.kind === "text")
  .map(({ name, codePointsMax }) => `WHEN char_length(${name}) NOT BETWEEN 1 AND ${codePointsMax} THEN 'pets.${name}'`)
  .join("\n  ");

/** The first column that is odd, in SQL; null if none is. */
export const oddOfPet = `CASE
  WHEN pets.id NOT BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER} THEN 'pets.id'
  ${oddTexts}
  WHEN pets.status NOT IN (${statuses}) THEN 'pets.status'
  WHEN added NOT IN (${statuses}) THEN 'pets.added' END`;

export const oddOfOnce = (changedTo: ChangedTo): string => `CASE
  WHEN hash !~ '^[A-Za-z0-9_-]{22}$' THEN 'once.hash'
  WHEN at = 'infinity' THEN 'once.at'
  WHEN once.${changedTo} NOT IN (${statuses}) THEN 'once.${changedTo}' END`;

/** How many rows have such a column, and the key of the first. */
export type OddRows = Map<string, { count: number; readonly first: string }>;

/** A statement looks at so many rows in some 50 ms. */
const piece = 100_000;

/**
 * Returns how many rows a table with that key has. Reads a piece at a time, whatever the keys are.
 * @param odd the column that is odd, in SQL
 * @param found takes those that are
 */
export async function auditRows(
  query: Query,
  [table, key]: readonly [string, string],
  odd: string,
  found: OddRows,
): Promise<number> {
  const text = `SELECT odd, count(*)::text AS count, min(key)::text AS first, max(key)::text AS last FROM (
    SELECT ${key} AS key, ${odd} AS odd FROM animal_store.${table} WHERE ${key} > $1 OR $1 IS NULL
    ORDER BY ${key} LIMIT ${piece}) AS piece GROUP BY odd ORDER BY max(key)`;
  let count = 0;
  for (let last: unknown = null; last !== undefined; ) {
    const rows = await query(text, [last]);
    for (const row of rows) {
      count += Number(row["count"]);
      if (row["odd"] !== null) {
        const column = String(row["odd"]);
        const earlier = found.get(column) ?? { count: 0, first: String(row["first"]) };
        found.set(column, { ...earlier, count: earlier.count + Number(row["count"]) });
      }
    }
    last = rows.at(-1)?.["last"];
  }
  return count;
}
