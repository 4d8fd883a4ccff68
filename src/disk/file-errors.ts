import { codeOf, hasCode, messageOf } from "../base/error-message.ts";

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
  return Object.assign(new Error(`Cannot read ${path}: ${messageOf(cause)}`, { cause }), { code: codeOf(cause), path });
}
