/**
 * A circuit breaker: whether the database is away. It decides nothing itself: connections.ts opens and closes it.
 */

import { performance } from "node:perf_hooks";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";

/**
 * "closed": statements are sent. "half-open": one has had no answer, and a trial decides whether the database is away;
 * others are sent meanwhile. "open": it is away, for the reason in `cause`, and requests fail at once.
 */
type State =
  | { readonly kind: "closed" }
  | { readonly kind: "half-open"; readonly trial: Promise<void> }
  | { readonly kind: "open"; readonly cause: unknown };

/** The least time between two lines about the state. A line that came too soon is written at the next poll. */
const lineMs = 10_000;

export class CircuitBreaker {
  readonly #report: Report;
  #state: State = { kind: "closed" };
  /** What the last line said, and when. */
  #reported = { isOpen: false, atMs: -Infinity };

  /** @param report takes a line when the breaker opens, and when it closes after that */
  constructor(report: Report) {
    this.#report = report;
  }

  get isOpen(): boolean {
    return this.#state.kind === "open";
  }

  close(): void {
    this.#state = { kind: "closed" };
    this.#reportState();
  }

  /** A trial was answered. If something else has opened the breaker meanwhile, such as a replica, it stays open. */
  endTrial(): void {
    if (this.#state.kind === "half-open") {
      this.close();
    }
  }

  open(cause: unknown): void {
    this.#state = { kind: "open", cause };
    this.#reportState();
  }

  /** Resolves at the end of the trial, or of the one that is under way already. @param trial never rejects */
  halfOpen(trial: () => Promise<void>): Promise<void> {
    if (this.#state.kind === "closed") {
      this.#state = { kind: "half-open", trial: trial() };
    }
    this.#reportState();
    return this.#state.kind === "half-open" ? this.#state.trial : Promise.resolve();
  }

  /** No line is written any more. */
  stop(): void {
    this.#reported.atMs = Infinity;
  }

  #reportState(): void {
    const state = this.#state;
    if (this.isOpen === this.#reported.isOpen || performance.now() < this.#reported.atMs + lineMs) {
      return;
    }
    this.#reported = { isOpen: this.isOpen, atMs: performance.now() };
    if (state.kind === "open") {
      const message = `the database cannot be used, requests get 503 until it can: ${messageOf(state.cause)}`;
      this.#report(message, "warning");
    } else {
      this.#report("the database can be used again", "info");
    }
  }
}
