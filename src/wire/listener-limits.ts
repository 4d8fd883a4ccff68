/** How long each phase of a connection may last, and how often that is checked. */
export const listenerLimits = {
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** How long a client may read nothing of a response, whatever it sends. */
  stalledReaderMs: 30_000,
  /** Longer than most proxies keep an idle connection, so that they close first. `--idle-seconds` replaces it. */
  idleMs: 75_000,
  /** How often timed-out connections are looked for. Node's default would add up to 30 s to a client's `fieldsMs`. */
  timeoutCheckMs: 500,
  /** How long a stop keeps idle connections open, so that a request that a proxy sends on one is not lost. */
  stopIdleMs: 250,
  /** How long a stop goes on accepting connections from the system's backlog, which may hold thousands. */
  drainBacklogMs: 2_000,
} as const;

export type ListenerLimits = Readonly<Record<keyof typeof listenerLimits, number>>;
