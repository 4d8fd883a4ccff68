/**
 * The bounds that no setting changes, each with its unit in its name.
 */

export const bounds = {
  /** Content of a request. */
  contentBytesMax: 16_384,
  /** Request target. */
  targetBytesMax: 8_192,
  /** Target and header fields together. */
  fieldBytesMax: 16_384,
  /** How much is read and dropped after a response that did not wait for the content, and for how long. */
  drainBytesMax: 1_048_576,
  drainMs: 2_000,
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** How long a client may read nothing while output waits for it. */
  stalledReaderMs: 30_000,
  /** Longer than the 60 s that proxies keep a connection: the proxy closes it first, never during a request. */
  idleMs: 75_000,
  /** How often time-outs are checked. With the 30 s that are Node's default `fieldsMs` would be four times as long. */
  timeoutCheckMs: 500,
  /** For requests under way at a stop. Less than the 10 s promised, because the files are closed after them. */
  stopMs: 9_000,
  /** How often the key file is read: a running server follows changes within 1 s. */
  keyPollMs: 250,
  /** How often limits are saved: kill -9 forgets at most 5 s. */
  limitsSaveMs: 3_000,
} as const;
