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
  /** What is read and dropped behind an answer that did not wait for the content, at most. */
  drainBytesMax: 1_048_576,
  drainMs: 2_000,
  fieldsMs: 10_000,
  requestMs: 30_000,
  /** A reader that takes nothing. */
  stalledReaderMs: 30_000,
  /** Longer than the 60 s that proxies keep a connection, so that it is never us who closes under a request. */
  idleMs: 75_000,
  /** How often Node looks for connections that are over their time; its own 30 s would triple `fieldsMs`. */
  timeoutCheckMs: 500,
  /** Requests under way at a stop. Less than the 10 s promised, since closing the files comes after it. */
  stopMs: 9_000,
  /** How often the key file is looked at: a running server follows within 1 s. */
  keyPollMs: 250,
  /** How often limits are saved: kill -9 forgets at most 5 s. */
  limitsSaveMs: 3_000,
} as const;
