/**
 * The commands about keys, for embedders and the command line. Choices are checked and become events here, and secrets
 * are made here. A `KeyDecider`, in this process or in the one that has the folder open, decides about the event and
 * appends it. So no secret leaves the process that made it.
 */

import type { Clock } from "../base/clock.ts";
import { showValue } from "../base/redact-secrets.ts";
import { createPlan, type PlanName, type QuotaChoice } from "../limits/plans.ts";
import { type KeyEvent, keyEvents } from "./key-events.ts";
import { checkedLabel, expiryMs } from "./key-options.ts";
import type { KeySummary } from "./key-summary.ts";
import { createKeyId, createSecret, digestOf, isKeyId, type RandomBytes, unknownKey } from "./key.ts";

/** @internal */
export interface KeyDecider {
  /** Returns every key, revoked ones too, in the order of their making. @throws {Error} they cannot be read */
  list(): Promise<KeySummary[]>;
  /**
   * Makes the event happen, at the decider's time. When this resolves, it is durable and in effect. Resolves to false
   * if there was nothing to change.
   * @throws {KeyError} `unknown_key`, `revoked_key`, `expired_key`
   */
  change(event: KeyEvent): Promise<boolean>;
}

/** @internal */
export interface KeysOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** A plan's name, with the numbers for Enterprise only. */
export interface PlanChoice extends QuotaChoice {
  readonly plan?: PlanName | undefined;
}

export interface KeyChoice extends PlanChoice {
  /** At most 64 printable characters. */
  readonly label?: string | undefined;
  /** In the future. As a text: RFC 3339, a date, which means its first instant in UTC, or a time with its offset. */
  readonly expires?: string | Date | undefined;
  /** May only list and fetch animals (default false). */
  readonly readOnly?: boolean | undefined;
}

export interface NewSecret {
  readonly id: string;
  /** The secret, `as_…`, which cannot be shown again. */
  readonly key: string;
}

const planOptions = ["plan", "perMinute", "perDay"];

/** A year: a bound for typing errors. */
export const graceSecondsMax = 365 * 86_400;

/**
 * A change rejects with a RangeError if what is given is invalid, and with a KeyError: `unknown_key`, `revoked_key`, or
 * `key_file_damaged`.
 */
export class Keys {
  readonly #decider: KeyDecider;
  readonly #options: KeysOptions;

  /** @internal */
  constructor(decider: KeyDecider, options: KeysOptions) {
    this.#decider = decider;
    this.#options = options;
  }

  /** Returns every key, revoked ones too, in the order of their making. @throws {Error} they cannot be read */
  list(): Promise<KeySummary[]> {
    return this.#decider.list();
  }

  /** Makes a key; on the Free plan if none is given. */
  async create(choice: KeyChoice = {}): Promise<NewSecret> {
    const { event, secret } = newKey(choice, this.#options);
    await this.#decider.change(event);
    return secret;
  }

  /** Revokes a key for good. Resolves to false if it was revoked already. */
  async revoke(id: string): Promise<boolean> {
    return this.#decider.change(this.#eventOf("revoked", id));
  }

  /** Changes the key's plan. Resolves to false if it was on this plan already. */
  async plan(id: string, choice: PlanChoice & { readonly plan: PlanName }): Promise<boolean> {
    checkNames("change", choice, planOptions);
    const plan = createPlan(choice.plan, choice);
    return this.#decider.change({ ...this.#eventOf("plan", id), plan });
  }

  /** Gives the key another label; an empty one takes it off. Resolves to false if it had this label already. */
  async label(id: string, label: string): Promise<boolean> {
    return this.#decider.change({ ...this.#eventOf("label", id), label: checkedLabel(label) });
  }

  /**
   * Gives the key another expiry, or none: then a key that has expired works again. Resolves to false if it had this
   * one already.
   * @param expires as in `KeyChoice`, or "never"
   */
  async expire(id: string, expires: string | Date): Promise<boolean> {
    const event = this.#eventOf("expiry", id);
    const expiresMs = expires === "never" ? undefined : expiryMs(expires, event.timeMs);
    return this.#decider.change({ ...event, expiresMs });
  }

  /**
   * Gives the key a new secret. The old ones work for another `graceSeconds` at most: an integer from 0, the default,
   * to `graceSecondsMax`. @throws {KeyError} `expired_key`, too
   */
  async rotate(id: string, options: { readonly graceSeconds?: number | undefined } = {}): Promise<NewSecret> {
    checkNames("rotate", options, ["graceSeconds"]);
    const graceSeconds = options.graceSeconds ?? 0;
    if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > graceSecondsMax) {
      const received = showValue(graceSeconds);
      throw new RangeError(
        `Cannot rotate key: grace must be an integer from 0 to ${graceSecondsMax} seconds, received ${received}`,
      );
    }
    const event = this.#eventOf("rotated", id);
    const key = createSecret(this.#options.randomBytes);
    const graceUntilMs = event.timeMs + graceSeconds * 1_000;
    await this.#decider.change({ ...event, sha256: digestOf(key), graceUntilMs });
    return { id, key };
  }

  /** Lifts the key's ban, if it has one. */
  async unban(id: string): Promise<void> {
    await this.#decider.change(this.#eventOf("unbanned", id));
  }

  /** Fills both windows, and forgets the key's bans. */
  async reset(id: string): Promise<void> {
    await this.#decider.change(this.#eventOf("reset", id));
  }

  #eventOf<Name extends KeyEvent["event"]>(event: Name, id: string): { event: Name; timeMs: number; id: string } {
    if (!isKeyId(id)) {
      throw unknownKey(keyEvents[event].verb, id);
    }
    return { event, timeMs: this.#options.clock.wallMs(), id };
  }
}

/** If an unknown option were ignored, the key would not be what the caller wants. @throws {RangeError} */
function checkNames(verb: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new RangeError(`Cannot ${verb} key: options must be an object with ${names.join(", ")}`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot ${verb} key: there is no option ${showValue(unknown)}`);
  }
}

/**
 * @internal A new key, and the event that makes it.
 * @throws {RangeError} as `create`
 */
export function newKey(
  choice: KeyChoice,
  { clock, randomBytes }: KeysOptions,
): { readonly event: KeyEvent; readonly secret: NewSecret } {
  checkNames("create", choice, [...planOptions, "label", "expires", "readOnly"]);
  const timeMs = clock.wallMs();
  const plan = createPlan(choice.plan ?? "free", choice);
  const label = checkedLabel(choice.label);
  const expiresMs = choice.expires === undefined ? undefined : expiryMs(choice.expires, timeMs);
  const isReadOnly = choice.readOnly ?? false;
  if (typeof isReadOnly !== "boolean") {
    throw new RangeError(`Cannot create key: readOnly must be true or false, received ${showValue(isReadOnly)}`);
  }
  const id = createKeyId(randomBytes);
  const key = createSecret(randomBytes);
  const event = { event: "made", timeMs, id, sha256: digestOf(key), plan, label, expiresMs, isReadOnly } as const;
  return { event, secret: { id, key } };
}
