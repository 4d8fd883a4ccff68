/**
 * Builds the index for categories in a database that has been migrated: concurrently, so that nobody who writes waits
 * for it. If that is cut off, it leaves an invalid index.
 *
 * Every instance looks until the index is valid, and begins if it is missing or invalid and nobody is at it. If two
 * begin at once, PostgreSQL ends one of them as the victim of a deadlock, and the next look finds what that has left.
 * What is begun goes on without a connection (`Database.begin`).
 */

import { setTimeout as delay } from "node:timers/promises";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { categoryIndex, categoryIndexName } from "./catalogue-functions.ts";
import type { Database } from "./database.ts";

/** The pause between two looks is as long, or up to twice, at random, so that two instances seldom begin at once. */
const pauseMs = 1_000;

/** Building or dropping an index holds a lock of this mode, or waits for it. All roles see it; a vacuum has it, too. */
const stateText = `SELECT CASE
  WHEN indisvalid THEN 'valid'
  WHEN EXISTS (
    SELECT FROM pg_locks WHERE relation = 'animal_store.pets'::regclass AND mode = 'ShareUpdateExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
  ) THEN 'under way'
  WHEN indisvalid IS NULL THEN 'missing' ELSE 'invalid' END AS state
FROM to_regclass('animal_store.${categoryIndexName}') AS index LEFT JOIN pg_index ON indexrelid = index`;

const steps: Readonly<Record<string, string>> = {
  missing: `CREATE INDEX CONCURRENTLY ${categoryIndex}`,
  invalid: `DROP INDEX CONCURRENTLY animal_store.${categoryIndexName}`,
};

/** Resolves when the index is valid, or when `stopping` is aborted. Never rejects. */
export async function buildCategoryIndex(database: Database, report: Report, stopping: AbortSignal): Promise<void> {
  let isTold = false;
  let lastFault = "";
  const tell = (reason: string): void => {
    const fault = `the index for categories could not be built: ${reason}`;
    if (fault !== lastFault && !stopping.aborted) {
      report(fault, "warning");
      lastFault = fault;
    }
  };
  for (let lastState = "unknown"; !stopping.aborted; ) {
    const state = await database.read(stateText).then(([row]) => String(row?.["state"]), () => "unknown");
    if (state === "valid") {
      if (isTold) {
        report("the index for categories is built: lists by category work");
      }
      return;
    }
    if (!isTold && state !== "unknown") {
      report("the index for categories is being built: until it is, lists by category get 503");
      isTold = true;
    }
    if (state === "invalid" && lastState === "under way") {
      tell("the log of the database says why; it begins again");
    }
    lastState = state;
    const text = steps[state];
    if (text !== undefined) {
      await database.begin(text).catch((error: unknown) => tell(messageOf(error)));
    }
    await delay(pauseMs * (1 + Math.random()), undefined, { signal: stopping, ref: false }).catch(() => undefined);
  }
}
