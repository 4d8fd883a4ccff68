/**
 * Decides about changes of keys and appends them to the log, be it a file or a table. Secrets are made in keys.ts.
 *
 * A change is one event of the log. When its promise resolves, it survives a loss of power and is in effect in this
 * process.
 */

import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

import type { Clock } from "../base/clock.ts";
import { SerialQueue } from "../base/serial-queue.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { type KeyEvent, kindOf } from "./key-events.ts";
import { type KeySummary, summaryOf } from "./key-summary.ts";
import { KeyError, keyState, unknownKey } from "./key.ts";
import type { Keyring } from "./keyring.ts";
import type { KeyDecider } from "./keys.ts";

/**
 * @internal The log of key events. One log is a file (key-file.ts), another one a table that several processes share
 * (postgres/postgres-key-log.ts).
 */
export interface KeyLog {
  /** The keys after all events read so far. Always the same object. */
  readonly keyring: Keyring;
  /** Whether a log was found, even an empty one. If not, nobody has made a key yet. */
  readonly exists: boolean;
  /** Applies events that other processes have appended; absent if none can. Never rejects. */
  refresh?(): Promise<void>;
  /**
   * Appends the event that `decide` returns, if any, before anybody else appends one. `decide` may be called several
   * times. When this resolves, the event is durable, and the keyring has it. One call at a time.
   * @throws {Error} what `decide` throws, or why the log cannot be read or written
   */
  append(decide: () => KeyEvent | undefined): Promise<void>;
  /** Resolves when every resource is released. */
  close(): Promise<void>;
}

/** @internal */
export interface KeyCommandsOptions {
  readonly clock: Clock;
  /** Reads the limits that lists show (default: unused ones). */
  readonly readLimits?: () => Promise<MemoryLimiter>;
}

/** So many are listed in a few milliseconds at most. */
const keysPerTurn = 500;

/** @internal */
export class KeyCommands implements KeyDecider {
  /** Whether there was a log when this object was made, even an empty one. If not, this is a first start. */
  readonly exists: boolean;
  readonly keyring: Keyring;
  readonly #options: KeyCommandsOptions;
  readonly #log: KeyLog;
  #isClosed = false;
  readonly #changes = new SerialQueue();

  constructor(log: KeyLog, options: KeyCommandsOptions) {
    this.#options = options;
    this.#log = log;
    this.exists = log.exists;
    this.keyring = log.keyring;
  }

  async list(): Promise<KeySummary[]> {
    const { clock, readLimits = async () => new MemoryLimiter({ clock }) } = this.#options;
    await this.#log.refresh?.();
    const limiter = await readLimits();
    const summaries: KeySummary[] = [];
    for (const key of this.keyring.list()) {
      summaries.push(summaryOf(key, limiter, clock.wallMs()));
      await (summaries.length % keysPerTurn === 0 && eventLoopTurn());
    }
    return summaries;
  }

  change(event: KeyEvent): Promise<boolean> {
    return this.#append(() => decide(this.keyring, event, this.#options.clock.wallMs()));
  }

  /** Makes the key of the event, unless there is a key already: of several calls at once, one makes a key. */
  createFirst(made: KeyEvent): Promise<boolean> {
    const { keyring } = this;
    const { clock } = this.#options;
    return this.#append(() => (keyring.list().length > 0 ? undefined : decide(keyring, made, clock.wallMs())));
  }

  /** @param decideNow returns the event to append, if any */
  async #append(decideNow: () => KeyEvent | undefined): Promise<boolean> {
    if (this.#isClosed) {
      throw new Error("Cannot change keys: the service is closed");
    }
    let isChanged = false;
    await this.#changes.run(() => this.#log.append(() => {
      const decided = decideNow();
      isChanged = decided !== undefined;
      return decided;
    }));
    return isChanged;
  }

  /** Resolves when no change is under way, and the log is closed. No other change can begin. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#changes.idle();
    await this.#log.close();
  }
}

/**
 * The event with the time of our clock: the requester's may differ. Undefined if it would change nothing.
 * @throws {KeyError} why it cannot happen
 */
function decide(keyring: Keyring, event: KeyEvent, nowMs: number): KeyEvent | undefined {
  const { id } = event;
  const { verb, isState, change } = kindOf(event);
  const key = keyring.get(id);
  if (event.event === "made") {
    if (key !== undefined) {
      throw new Error("Cannot create key: generated an id that exists");
    }
  } else if (key === undefined) {
    throw unknownKey(verb, id);
  } else if (key.revokedMs !== undefined && event.event !== "revoked") {
    throw new KeyError("revoked_key", `Cannot ${verb} key: ${id} is revoked`);
  } else if (isState === true && isDeepStrictEqual({ ...key, ...change(event, key) }, key)) {
    return undefined;
  } else if (event.event === "rotated" && keyState(key, nowMs) === "expired") {
    throw new KeyError("expired_key", `Cannot rotate key: ${id} has expired`);
  }
  const fault = keyring.faultOf(event);
  if (fault !== undefined) {
    throw new Error(`Cannot ${verb} key: ${fault}`);
  }
  return event.event === "rotated"
    ? { ...event, timeMs: nowMs, graceUntilMs: nowMs + event.graceUntilMs - event.timeMs }
    : { ...event, timeMs: nowMs };
}
