/**
 * The fixed bounds that several rooms share, each with its unit in its name. One that a single file needs stands there.
 */

export const bounds = {
  contentBytesMax: 16_384,
  targetBytesMax: 8_192,
  /** Target and header fields together. */
  fieldBytesMax: 16_384,
  /** What is read and dropped after the last response of a connection, and for how long. */
  drainBytesMax: 1_048_576,
  drainMs: 2_000,
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** How long a client may read nothing of a response, or up to twice as long. */
  stalledReaderMs: 30_000,
  /** Longer than the 60 s that proxies keep a connection, so that the proxy closes first and no request is lost. */
  idleMs: 75_000,
  /** How often Node looks for connections that have timed out. Its own 30 s would add to `fieldsMs`. */
  timeoutCheckMs: 500,
  /** How long a stop keeps idle connections open, so that a request that a proxy sends on one is not lost. */
  stopIdleMs: 250,
  /** How long a stop waits for requests under way. A stop takes 10 s at most, and the files are closed after this. */
  stopMs: 9_000,
  /** How often the key file is checked. A running server applies changes within 1 s. */
  keyPollMs: 250,
  /** How often limits are saved. A kill -9 loses the last 5 s at most. */
  limitsSaveMs: 3_000,
} as const;
