/**
 * What the functions of the schema have in common, in SQL.
 */

/**
 * The first statements of each. They bound each wait for a lock, and from release 17 on the whole transaction, also if
 * its client stopped in the middle of a message. PostgreSQL does not notice that a client has given up, so without them
 * statements would pile up.
 */
export const boundWaits: string = `PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;`;

/**
 * Makes the commit wait for the disk although another default is set. A default that also waits for a standby stays.
 */
export const durableCommit =
  "set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/**
 * The settings of each function that looks for rows. A connection plans its statements once, perhaps on small tables,
 * and keeps the plans while the tables grow. So only plans that suit any size are allowed: those by an index. A
 * table without an index then seems so costly that PostgreSQL would compile the statement, hence the last setting.
 */
export const indexPlans = `SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off`;
