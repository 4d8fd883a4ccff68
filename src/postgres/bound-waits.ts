/**
 * The first statement of each function, in SQL: how long it may wait for somebody else's locks, and hold its own. The
 * client gives up at the same time, but PostgreSQL does not notice, so statements would pile up.
 */

/** From release 17 on, PostgreSQL also ends a transaction whose client fell silent before the end of its message. */
export const boundWaits: string = `PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;`;
