/** Observes each response: for the request log and the metrics, if an operator has turned them on. */

import { clearTimeout, setTimeout } from "node:timers";

import type { Clock } from "../base/clock.ts";
import { Metrics } from "./metrics.ts";

export interface ObservedRequest {
  readonly requestId: string;
  /** "" if the bytes were not a request. */
  readonly method: string;
  /** "none" if the request was refused before it was routed. */
  readonly routePattern: string;
  readonly keyId: string | undefined;
  readonly address: string;
  readonly trace: string | undefined;
  /** On the monotonic clock. Undefined only if nothing observes requests. */
  readonly receivedMs: number | undefined;
}

export interface ObservedResponse {
  /** 0 if the connection broke before the response. */
  readonly status: number;
  /** The code, if the response is an error of the service. */
  readonly code?: string | undefined;
  /** The fields besides the common ones: name, value, name, value, … */
  readonly fields?: readonly string[];
  /** What the request has added or changed; for a replay, what the first request had. */
  readonly effect?: { readonly pet: number; readonly to?: string | undefined } | undefined;
}

export interface ObserverOptions {
  readonly clock: Clock;
  readonly hasMetrics: boolean;
  /** Takes the lines of the request log; if undefined, none are written. */
  readonly writeRequests: ((text: string) => void) | undefined;
}

/** Lines are written together, because a write for each line would cost more than its request. */
const flushDelayMs = 100;
const pendingCharactersMax = 65_536;

export class Observers {
  readonly metrics: Metrics | undefined;
  readonly #clock: Clock;
  readonly #write: ObserverOptions["writeRequests"];
  #pending = "";
  #timer: NodeJS.Timeout | undefined;

  constructor({ clock, hasMetrics, writeRequests }: ObserverOptions) {
    this.#clock = clock;
    this.metrics = hasMetrics ? new Metrics() : undefined;
    this.#write = writeRequests;
  }

  observe(request: ObservedRequest, response: ObservedResponse, contentBytes: number): void {
    const { status, code, fields = [], effect } = response;
    const { routePattern, method, receivedMs } = request;
    const durationMs = receivedMs === undefined ? 0 : this.#clock.monotonicMs() - receivedMs;
    this.metrics?.countRequest(routePattern, method, status, durationMs);
    if (status === 429 && code !== undefined) {
      this.metrics?.countRefusal(code);
    }
    if (fields.includes("Idempotent-Replayed")) {
      this.metrics?.countReplay();
    }
    if (this.#write !== undefined) {
      // README.md describes the members. Credentials and the request target are in none.
      this.#log({
        time: new Date(this.#clock.wallMs() - durationMs).toISOString(),
        id: request.requestId,
        method,
        route: routePattern,
        status,
        code: code ?? null,
        ms: Math.round(durationMs * 1_000) / 1_000,
        bytes: contentBytes,
        key: request.keyId ?? null,
        address: request.address,
        trace: request.trace ?? null,
        pet: effect?.pet ?? null,
        to: effect?.to ?? null,
      });
    }
  }

  #log(line: object): void {
    this.#pending += `${JSON.stringify(line)}\n`;
    if (this.#pending.length >= pendingCharactersMax) {
      this.flush();
    } else {
      this.#timer ??= setTimeout(() => this.flush(), flushDelayMs).unref();
    }
  }

  /** Writes the lines that wait. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#pending;
    this.#pending = "";
    if (text !== "") {
      this.#write?.(text);
    }
  }
}
