/**
 * What an error says, for a message of our own.
 */

/** The error's message; anything else that was thrown, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A failure to read the file, by its name: of a file that is open, the system's own error has none. */
export function readError(path: string, cause: unknown): Error {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return Object.assign(new Error(`Cannot read ${path}: ${messageOf(cause)}`, { cause }), { code, path });
}
