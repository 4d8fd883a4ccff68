/**
 * What an error says, for a message of our own.
 */

/** The error's message; anything else that was thrown, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
