/**
 * Charges failed authentication to the client's address: `failuresPerMinute` for each, in memory only.
 *
 * An attacker may have any number of addresses, so memory and work are bounded. There are two maps: windows opened in
 * the current minute, and in the one before. When the minute is over, all windows of the older map have ended, and it
 * is dropped. No open window is ever dropped: when the table is full, new addresses share one window.
 */

import type { Clock } from "../base/clock.ts";
import { detachedCopy } from "../base/texts.ts";
import { secondsUntil, windowStatus } from "./key-limits.ts";
import type { Allowed, RateStatus, Refusal } from "./limiter.ts";
import { WallClockMapping } from "./wall-clock-mapping.ts";
import { closedWindow, isOpen, minuteMs, takeToken, type Window, windowState } from "./window.ts";

export const failuresPerMinute = 60;

export class AddressLimiter {
  readonly #clockMapping: WallClockMapping;
  readonly #addressesMax: number;
  readonly #sharedWindow = closedWindow();
  #current = new Map<string, Window>();
  #previous = new Map<string, Window>();
  #currentEndsMs: number;

  /** @param options the default of `addressesMax` allows a table of about 10 MiB */
  constructor({ clock, addressesMax = 50_000 }: { readonly clock: Clock; readonly addressesMax?: number }) {
    this.#clockMapping = new WallClockMapping(clock);
    this.#addressesMax = addressesMax;
    this.#currentEndsMs = this.#clockMapping.nowMs() + minuteMs;
  }

  /** How many windows are in memory, ended ones included. Never more than `addressesMax`. */
  get count(): number {
    return this.#current.size + this.#previous.size;
  }

  /** Charges a failed authentication to the address, as `clientAddress` returns it. */
  take(address: string): Allowed | Refusal {
    const nowMs = this.#turn();
    let window = this.#find(address, nowMs);
    if (window === undefined) {
      window = closedWindow();
      this.#current.set(detachedCopy(address), window);
    }
    const state = windowState(window, failuresPerMinute, minuteMs, nowMs);
    if (state.left === 0) {
      const retryAfterSeconds = secondsUntil(state.endsMs, nowMs);
      const status = windowStatus(state, this.#clockMapping);
      return { kind: "too_many_failures", ...status, waitsFor: "address", retryAfterSeconds };
    }
    takeToken(window, state);
    return { kind: "allowed", ...windowStatus(state, this.#clockMapping) };
  }

  peek(address: string): RateStatus {
    const nowMs = this.#turn();
    const window = this.#find(address, nowMs) ?? closedWindow();
    return windowStatus(windowState(window, failuresPerMinute, minuteMs, nowMs), this.#clockMapping);
  }

  /** Returns the address's open window, or the shared one; undefined if the table can take a new one. */
  #find(address: string, nowMs: number): Window | undefined {
    const window = this.#current.get(address) ?? this.#previous.get(address);
    if (window !== undefined && isOpen(window, nowMs)) {
      return window;
    }
    return this.count < this.#addressesMax ? undefined : this.#sharedWindow;
  }

  /** Returns the time. Starts a new minute if the current one is over. */
  #turn(): number {
    const nowMs = this.#clockMapping.nowMs();
    if (nowMs >= this.#currentEndsMs) {
      this.#previous = nowMs < this.#currentEndsMs + minuteMs ? this.#current : new Map();
      this.#current = new Map();
      this.#currentEndsMs = nowMs + minuteMs;
    }
    return nowMs;
  }
}
