import { inspect, types } from "node:util";

/**
 * The error's message; if that is empty, those of its errors: a failure to connect to all addresses of a name has no
 * message of its own. Any other thrown value is inspected, because not every object has `toString`.
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

/** The `code`, such as a system error has; undefined if there is none. */
export function codeOf(error: unknown): unknown {
  return isError(error) && "code" in error ? error.code : undefined;
}

export function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

/** Recognizes errors of any realm: in Jest, which runs each file in its own, Node's are not instances of `Error`. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}
