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

/** As of a system error; undefined if there is none. */
export function codeOf(error: unknown): unknown {
  return isError(error) && "code" in error ? error.code : undefined;
}

export function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

/** Of any realm: Jest runs each test file in its own, where the errors of Node are not instances of `Error`. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}
