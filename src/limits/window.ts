/**
 * A fixed window of requests: arithmetic, without clock, map or timer.
 *
 * A window has the tokens of one minute or day. It is filled when the first request opens it, and not in between: it
 * is a fixed window, so around a border a key may use up to twice its quota within a moment. What is stored is the
 * tokens used, not those left, so a change of plan keeps what is used. Instants are whole milliseconds.
 */

export interface Window {
  /** Tokens taken since it opened. Meaningless once the window is closed. */
  used: number;
  /** When it is full again: from then on it is closed. */
  endsMs: number;
}

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

export function closedWindow(): Window {
  return { used: 0, endsMs: -Infinity };
}

export function isOpen(window: Readonly<Window>, nowMs: number): boolean {
  return nowMs < window.endsMs;
}

/** A window at an instant, under a plan: what is decided and shown follows from it. */
export interface WindowState {
  readonly limit: number;
  /** Tokens left; never less than 0, also if the plan became smaller than what is used. */
  left: number;
  /** When it is full again; if it is closed, when it would be if it opened now. */
  readonly endsMs: number;
}

export function windowState(window: Readonly<Window>, limit: number, windowMs: number, nowMs: number): WindowState {
  return isOpen(window, nowMs)
    ? { limit, left: Math.max(0, limit - window.used), endsMs: window.endsMs }
    : { limit, left: limit, endsMs: nowMs + windowMs };
}

/** Takes one of the tokens that are left, from the window and from its state. Opens the window if it is closed. */
export function takeToken(window: Window, state: WindowState): void {
  state.left -= 1;
  window.used = state.limit - state.left;
  window.endsMs = state.endsMs;
}
