/**
 * What the functions of the schema have in common, in SQL.
 */

/**
 * The first statement of each: how long it may wait for somebody else's locks, and hold its own. The client gives up
 * at the same time, but PostgreSQL does not notice, so statements would pile up. From release 17 on, PostgreSQL also
 * ends a transaction whose client fell silent before the end of its message.
 */
export const boundWaits: string = `PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;`;

/**
 * The settings of each function that looks for rows. A connection plans its statements once, perhaps on small tables,
 * and keeps the plans while the tables grow. So only plans that suit any size are allowed: those by an index. Without
 * the last setting, PostgreSQL would compile statements on a table without an index, so costly they now seem to be.
 */
export const indexPlans = `SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off`;
