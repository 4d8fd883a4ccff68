/**
 * Reports what the database refuses, for the operator who has to do something about it: a full disk, a missing right.
 * What a refusal says of the database as a whole is decided in connections.ts.
 */

import { performance } from "node:perf_hooks";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { isTimeout } from "./database-error.ts";

/** The least time between two lines about refusals of one kind. */
const lineMs = 60_000;

export class Refusals {
  readonly #report: Report;
  /** When each kind was last reported, by performance.now(). */
  readonly #reportedMs = new Map<string, number>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** @param kind such as an SQLSTATE: of those that come soon after one of the same kind, no line is written */
  report(what: string, kind: string, error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - (this.#reportedMs.get(kind) ?? -Infinity) > lineMs) {
      this.#reportedMs.set(kind, nowMs);
      const verb = isTimeout(error) ? "did not answer" : "refused";
      this.#report(`the database ${verb} ${what}: ${messageOf(error)}`, "warning");
    }
  }
}
