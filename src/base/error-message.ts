import { inspect, types } from "node:util";

/**
 * The error's message. Anything else that was thrown is inspected: not every object has `toString`. If a name has
 * several addresses, a failure to connect to them has no message, only its errors have.
 */
export function messageOf(error: unknown): string {
  if (!isError(error)) {
    return inspect(error);
  }
  if (error.message === "" && "errors" in error && Array.isArray(error.errors)) {
    return error.errors.map(messageOf).join("; ");
  }
  return error.message;
}

export function hasCode(error: unknown, code: string): boolean {
  return isError(error) && "code" in error && error.code === code;
}

/** Resolves to undefined if there is no such file. */
export async function undefinedIfAbsent<Found>(pending: Promise<Found>): Promise<Found | undefined> {
  try {
    return await pending;
  } catch (error) {
    if (hasCode(error, "ENOENT")) {
      return undefined;
    }
    throw error;
  }
}

/** A failure to read the file, with its path: a system error about an open file does not contain it. */
export function readError(path: string, cause: unknown): Error {
  const code = isError(cause) && "code" in cause ? cause.code : undefined;
  return Object.assign(new Error(`Cannot read ${path}: ${messageOf(cause)}`, { cause }), { code, path });
}

/** Of any realm: Jest runs each test file in its own, where the errors of Node are not instances of `Error`. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

/** "1 key", "2 keys". @param noun in the singular */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
