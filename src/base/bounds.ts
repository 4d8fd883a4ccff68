/**
 * The fixed bounds of a message and of a stop, each with its unit in its name. Any other stands in the file whose
 * promise it is.
 */

export const bounds = {
  contentBytesMax: 16_384,
  targetBytesMax: 8_192,
  /** Target and header fields together. */
  fieldBytesMax: 16_384,
  /** Header fields of a message. Each takes 70 bytes of memory besides its own. */
  fieldCountMax: 100,
  /** How long a stop waits for requests under way. A stop takes 10 s at most, and the files are closed after this. */
  stopMs: 9_000,
} as const;
