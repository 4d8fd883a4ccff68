/** Why a statement failed, and what the error says about its effect. */

import { messageOf } from "../base/error-message.ts";

/** The database could not be used. Embedders get this error when they open the service or change a key. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** Whether the statement may have taken effect: "unknown" if its answer was lost. */
  readonly effect: "none" | "unknown";

  constructor(effect: "none" | "unknown", cause: unknown) {
    const message = messageOf(cause);
    // The package `pg` says in words for programmers that no password was given.
    const isPasswordMissing = message.includes("client password must be a string");
    super(isPasswordMissing ? "the database asks for a password" : message, { cause });
    this.effect = effect;
  }
}

export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** Whether our limit was reached, or a shorter `query_timeout` of the pool, whose error has no code. */
export function isTimeout(error: unknown): boolean {
  return error instanceof TimeoutError || messageOf(error) === "Query read timeout";
}

/** The SQLSTATE of an error that the database itself reported. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && "severity" in error && "code" in error ? String(error.code) : undefined;
}

/** Whether the statement was rolled back so that others could go on: a deadlock, or a serialization failure. */
export function isVictim(error: unknown): boolean {
  return ["40001", "40P01"].includes(sqlState(error) ?? "");
}

/**
 * Whether the database says that the statement was rolled back. Codes that leave it open are those of an ended
 * connection or of a failure of the database itself (08, 57P, 25P, 58, XX), and "unknown" (40003).
 */
export function isRolledBack(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && !/^(08|57P|25P|40003|58|XX)/.test(state);
}
