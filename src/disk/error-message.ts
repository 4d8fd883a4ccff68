/**
 * The text of whatever was thrown.
 */

/** Returns the message of an error, and anything else as text. Never throws. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return "unknown error"; // An object that has no text, such as Object.create(null).
  }
}
