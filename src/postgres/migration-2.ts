/**
 * Migration 2: the functions of release 1.2, of which `append_key_event` knows the event `reset`.
 */

export const migration2 = "";
