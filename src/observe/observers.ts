/**
 * The observers of each response: the request log and the metrics, if an operator has turned them on.
 */

import type { Clock } from "../base/clock.ts";
import { Metrics } from "./metrics.ts";
import { RequestLog } from "./request-log.ts";

/** What is observed of a request. */
export interface ObservedRequest {
  readonly requestId: string;
  /** "" if the bytes were not a request. */
  readonly method: string;
  /** "none" if the request was refused before it was routed. */
  readonly routePattern: string;
  /** Undefined without a valid key. */
  readonly keyId: string | undefined;
  readonly address: string;
  readonly trace: string | undefined;
  /** Monotonic. Undefined if the bytes were not a request: it has no duration. */
  readonly receivedMs: number | undefined;
  /** Says why a request was refused. */
  readonly rate: { readonly kind?: "allowed" | "rate_limited" | "key_banned" | "unavailable" } | undefined;
}

export interface ObserverOptions {
  readonly clock: Clock;
  readonly hasMetrics: boolean;
  /** Takes the lines of the request log; if undefined, none are written. */
  readonly writeRequests: ((text: string) => void) | undefined;
}

export class Observers {
  readonly metrics: Metrics | undefined;
  readonly #clock: Clock;
  readonly #requestLog: RequestLog | undefined;

  constructor({ clock, hasMetrics, writeRequests }: ObserverOptions) {
    this.#clock = clock;
    this.metrics = hasMetrics ? new Metrics() : undefined;
    this.#requestLog = writeRequests === undefined ? undefined : new RequestLog(writeRequests);
  }

  /** @param status 0 if the connection broke before the response */
  observe(request: ObservedRequest, status: number, contentBytes: number): void {
    const { routePattern, method, receivedMs, rate } = request;
    const durationMs = receivedMs === undefined ? 0 : this.#clock.monotonicMs() - receivedMs;
    this.metrics?.countRequest(routePattern, method, status, durationMs);
    if (status === 429 && (rate?.kind === "rate_limited" || rate?.kind === "key_banned")) {
      this.metrics?.countRefusal(rate.kind);
    }
    this.#requestLog?.add({
      time: new Date(this.#clock.wallMs() - durationMs).toISOString(),
      id: request.requestId,
      method,
      route: routePattern,
      status,
      ms: Math.round(durationMs * 1_000) / 1_000,
      bytes: contentBytes,
      key: request.keyId ?? null,
      address: request.address,
      trace: request.trace ?? null,
    });
  }

  close(): void {
    this.#requestLog?.flush();
  }
}
