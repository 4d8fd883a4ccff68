/**
 * The keys, which servers and commands may change at the same time.
 *
 * A change is one event in their log, decided after the events of others have been read. When its promise resolves, it
 * survives a loss of power and is in effect in this process. Other processes follow at their next look. Every change
 * may throw a KeyError with the code `key_file_damaged`.
 */

import { isDeepStrictEqual } from "node:util";

import type { Clock } from "../base/clock.ts";
import { showValue } from "../base/redact-secrets.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { createPlan, type QuotaChoice } from "../limits/plans.ts";
import { expiryMs } from "./expiry.ts";
import { KeyFile, type KeyFileOptions } from "./key-file.ts";
import type { KeyLog } from "./key-log.ts";
import { type KeySummary, summaryOf } from "./key-summary.ts";
import type { ApiKey, KeyEvent, RandomBytes } from "./key.ts";
import { createKeyId, createSecret, digestOf, isKeyId, KeyError, keyState } from "./key.ts";
import type { Keyring } from "./keyring.ts";
import { checkedLabel } from "./label.ts";

/** @internal */
export interface KeyStoreOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** For lists (default: as if nothing were used). */
  readonly readLimits?: (keyring: Keyring) => Promise<MemoryLimiter>;
}

/** A plan's name, with the numbers for Enterprise only. */
export interface PlanChoice extends QuotaChoice {
  readonly plan?: string | undefined;
}

export interface KeyChoice extends PlanChoice {
  /** At most 64 printable characters. */
  readonly label?: string | undefined;
  /** In the future. As a text: RFC 3339, a date, which means its first instant in UTC, or a time with its offset. */
  readonly expires?: string | Date | undefined;
  /** May list and fetch animals, but not add any (default false). */
  readonly readOnly?: boolean | undefined;
}

export interface NewSecret {
  readonly id: string;
  /** The secret, `as_…`, which cannot be shown again. */
  readonly key: string;
}

type Decide = (key: ApiKey, timeMs: number) => KeyEvent | undefined;

const planOptions = ["plan", "perMinute", "perDay"];

/** A year: a bound for typing errors. */
export const graceSecondsMax: number = 365 * 86_400;

export class KeyStore {
  /** Whether there was a log when this store was made, even an empty one. If not, this is a first start. */
  readonly exists: boolean;
  readonly #options: KeyStoreOptions;
  readonly #log: KeyLog;
  #isClosed = false;
  /** The changes of one process wait here for each other, not at the lock. */
  #changing: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(log: KeyLog, options: KeyStoreOptions) {
    this.#options = options;
    this.#log = log;
    this.exists = log.exists;
  }

  /** @internal The keys of a data folder. @throws {KeyError} `key_file_damaged`, with line and byte */
  static async open(options: KeyStoreOptions & KeyFileOptions): Promise<KeyStore> {
    return new KeyStore(await KeyFile.open(options), options);
  }

  /** @internal Always the same object. */
  get keyring(): Keyring {
    return this.#log.keyring;
  }

  /** Reads what others have appended. Never rejects. */
  async follow(): Promise<void> {
    if (!this.#isClosed) {
      await this.#log.follow();
    }
  }

  /** Returns every key, revoked ones too, in the order of their making. @throws {Error} the limits cannot be read */
  async list(): Promise<KeySummary[]> {
    const { clock, readLimits = async () => new MemoryLimiter({ clock }) } = this.#options;
    await this.#log.refresh();
    const limiter = await readLimits(this.keyring);
    return this.keyring.list().map((key) => summaryOf(key, limiter, clock.wallMs()));
  }

  /**
   * Makes a key; on the Free plan if none is given.
   * @throws {RangeError} the plan, its numbers, the label, the expiry or `readOnly` are invalid
   */
  async create(choice: KeyChoice = {}): Promise<NewSecret> {
    return (await this.#make(choice, () => true))!; // Nothing keeps it from being made.
  }

  /** As `create`, unless there is a key already: of several processes that call this at a time, one makes a key. */
  createFirst(choice: KeyChoice): Promise<NewSecret | undefined> {
    return this.#make(choice, () => this.keyring.list().length === 0);
  }

  async #make(choice: KeyChoice, isWanted: () => boolean): Promise<NewSecret | undefined> {
    const { clock, randomBytes } = this.#options;
    checkOptions("create", choice, [...planOptions, "label", "expires", "readOnly"]);
    const plan = createPlan(choice.plan ?? "free", choice);
    const label = checkedLabel(choice.label);
    const expiresMs = choice.expires === undefined ? undefined : expiryMs(choice.expires, clock.wallMs());
    const isReadOnly = choice.readOnly ?? false;
    if (typeof isReadOnly !== "boolean") {
      throw new RangeError(`Cannot create key: readOnly must be true or false, received ${showValue(isReadOnly)}`);
    }
    const id = createKeyId(randomBytes);
    const key = createSecret(randomBytes);
    const sha256 = digestOf(key);
    let isMade = false;
    await this.#inTurn(() => this.#log.append(() => {
      if (this.keyring.get(id) !== undefined) {
        throw new Error("Cannot create key: generated an id that exists");
      }
      isMade = isWanted();
      const timeMs = clock.wallMs();
      return isMade ? { event: "made", timeMs, id, sha256, plan, label, expiresMs, isReadOnly } : undefined;
    }));
    return isMade ? { id, key } : undefined;
  }

  /** Revokes a key for good. Resolves to false if it was revoked already. @throws {KeyError} `unknown_key` */
  revoke(id: string): Promise<boolean> {
    return this.#change(id, "revoke", (key, timeMs) => {
      return key.revokedMs === undefined ? { event: "revoked", timeMs, id } : undefined;
    });
  }

  /**
   * Changes the key's plan. Resolves to false if it was on this plan already.
   * @throws {RangeError} the plan is invalid
   * @throws {KeyError} `unknown_key`, `revoked_key`
   */
  async plan(id: string, choice: PlanChoice & { readonly plan: string }): Promise<boolean> {
    checkOptions("change", choice, planOptions);
    const plan = createPlan(choice.plan, choice);
    return this.#change(id, "change", (key, timeMs) => {
      return isDeepStrictEqual(key.plan, plan) ? undefined : { event: "plan", timeMs, id, plan };
    });
  }

  /**
   * Gives the key a new secret. The old ones work for another `graceSeconds` at most: 0 by default, at most a year.
   * @throws {RangeError} if `graceSeconds` is not an integer within its bounds
   * @throws {KeyError} `unknown_key`, `revoked_key`, `expired_key`
   */
  async rotate(id: string, options: { readonly graceSeconds?: number | undefined } = {}): Promise<NewSecret> {
    checkOptions("rotate", options, ["graceSeconds"]);
    const graceSeconds = options.graceSeconds ?? 0;
    if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > graceSecondsMax) {
      const received = showValue(graceSeconds);
      throw new RangeError(
        `Cannot rotate key: grace must be an integer from 0 to ${graceSecondsMax} seconds, received ${received}`,
      );
    }
    const key = createSecret(this.#options.randomBytes);
    await this.#change(id, "rotate", (apiKey, timeMs) => {
      if (keyState(apiKey, timeMs) === "expired") {
        throw new KeyError("expired_key", `Cannot rotate key: ${id} has expired`);
      }
      return { event: "rotated", timeMs, id, sha256: digestOf(key), graceUntilMs: timeMs + graceSeconds * 1_000 };
    });
    return { id, key };
  }

  /** Lifts the key's ban, if it has one. @throws {KeyError} `unknown_key`, `revoked_key` */
  async unban(id: string): Promise<void> {
    await this.#change(id, "unban", (_key, timeMs) => ({ event: "unbanned", timeMs, id }));
  }

  /** Fills both windows, and forgets the key's bans. @throws {KeyError} `unknown_key`, `revoked_key` */
  async reset(id: string): Promise<void> {
    await this.#change(id, "reset", (_key, timeMs) => ({ event: "reset", timeMs, id }));
  }

  /** Resolves when no change or look is under way. No other one can begin. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#changing;
    await this.#log.settled();
  }

  /** Appends the event that `decide` returns for the key. Resolves to false if it returns undefined. */
  async #change(id: string, verb: string, decide: Decide): Promise<boolean> {
    let event: KeyEvent | undefined;
    await this.#inTurn(async () => {
      await this.#log.refresh();
      // Checked before the log is written too, which makes the folder: without one the key is unknown.
      this.#known(id, verb);
      await this.#log.append(() => (event = decide(this.#known(id, verb), this.#options.clock.wallMs())));
    });
    return event !== undefined;
  }

  /** Messages end up in logs, so what is not an id is not repeated: it may be a secret, pasted in the wrong place. */
  #known(id: string, verb: string): ApiKey {
    if (!isKeyId(id)) {
      throw new KeyError("unknown_key", `Cannot ${verb} key: not the id of a key ("key_" and 15 letters and digits)`);
    }
    const key = this.keyring.get(id);
    if (key === undefined) {
      throw new KeyError("unknown_key", `Cannot ${verb} key: no key has the id "${id}"`);
    }
    if (key.revokedMs !== undefined && verb !== "revoke") {
      throw new KeyError("revoked_key", `Cannot ${verb} key: ${id} is revoked`);
    }
    return key;
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    if (this.#isClosed) {
      throw new Error("Cannot change keys: the service is closed");
    }
    const changing = this.#changing.then(change);
    // The caller handles the failure. The next change does not depend on it.
    this.#changing = changing.catch(() => undefined);
    return changing;
  }
}

/** If an unknown option were ignored, the key would not be what the caller wants. @throws {RangeError} */
function checkOptions(verb: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new RangeError(`Cannot ${verb} key: options must be an object with ${names.join(", ")}`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot ${verb} key: there is no option ${showValue(unknown)}`);
  }
}
