/** How long a connection may take for each of its parts. */
export const listenerLimits = {
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** How long a client may read nothing of a response, or up to twice as long. */
  stalledReaderMs: 30_000,
  /** Longer than the 60 s that proxies keep a connection, so that the proxy closes first and no request is lost. */
  idleMs: 75_000,
  /** How often timed-out connections are looked for. With Node's 30 s a client would have `fieldsMs` and up to 30 s. */
  timeoutCheckMs: 500,
  /** How long a stop keeps idle connections open, so that a request that a proxy sends on one is not lost. */
  stopIdleMs: 250,
  /** How long a stop takes new connections, if each turn brings one: the system may hold thousands. */
  drainBacklogMs: 2_000,
} as const;

export type ListenerLimits = Readonly<Record<keyof typeof listenerLimits, number>>;
