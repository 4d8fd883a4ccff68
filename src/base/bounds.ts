/**
 * The limits on a message and on a stop, each with its unit in its name. Every other limit lives in the file that
 * enforces it.
 */

export const bounds = {
  contentBytesMax: 16_384,
  targetBytesMax: 8_192,
  /** Target and header fields together. */
  fieldBytesMax: 16_384,
  /** Header fields of a message: each takes 70 bytes of memory besides its text. */
  fieldCountMax: 100,
  /** How long a stop waits for requests in progress. A stop takes 10 s at most; the rest is for closing the files. */
  stopMs: 9_000,
} as const;
