/**
 * The keys of one data folder: asked by the server at each request, changed by it and by commands at the same time.
 *
 * A change is one line of keys.jsonl, decided and appended under the file's lock, after reading what others appended
 * before. When its promise resolves it would survive a loss of power, and holds in this process; the others follow when
 * they look next. Secrets are in no line, and are returned once.
 */

import { join } from "node:path";

import type { Clock } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { createPlan, type Plan } from "../limits/plans.ts";
import { updateUnderLock } from "../log/locked-append.ts";
import { encodeKeyEvent } from "./key-event.ts";
import { KeyFile } from "./key-file.ts";
import type { ApiKey, KeyEvent, RandomBytes } from "./key.ts";
import { checkedLabel, createKeyId, createSecret, digestOf, expiryMs, isKeyId, KeyError, keyState } from "./key.ts";
import type { Keyring } from "./keyring.ts";

export interface KeyStoreOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly randomBytes: RandomBytes;
  /** Told, in one line, of what an operator should see. No secret is ever in it. */
  readonly report: (message: string) => void;
  /** Called for each unban that is read after the opening; of those before it, each key has the last (`unbannedMs`). */
  readonly onUnban?: (keyId: string) => void;
}

/** A plan's name, and the numbers that Enterprise needs and the other plans refuse. */
export interface PlanChoice {
  readonly plan?: string | undefined;
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
}

export interface KeyChoice extends PlanChoice {
  /** At most 64 printable characters. */
  readonly label?: string | undefined;
  /** ISO 8601: a date, meaning its first instant in UTC, or an instant. In the future. */
  readonly expires?: string | undefined;
}

export interface NewSecret {
  readonly id: string;
  /** The secret, `as_…`: nobody can show it again. */
  readonly key: string;
}

const choiceNames: ReadonlySet<string> = new Set(["plan", "perMinute", "perDay", "label", "expires"]);

/** A choice that is silently ignored would make another key than was meant. @throws {RangeError} */
function checkChoice(choice: unknown): void {
  if (typeof choice !== "object" || choice === null) {
    throw new RangeError('Cannot create key: give it options, such as { plan: "pro" }');
  }
  const unknown = Object.keys(choice).find((name) => !choiceNames.has(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot create key: there is no option "${unknown}"`);
  }
}

/** What a key may be changed for, as the word in its error messages. */
type Verb = "revoke" | "change" | "rotate" | "unban";

const fileName = "keys.jsonl";
const defaultPlan = "free";

/** A year: time to renew a key at leisure, and an end to every slip of the hand. */
export const graceSecondsMax: number = 365 * 86_400;

export class KeyStore {
  /** Whether there was a key file when this store was opened, be it empty or torn. Only a folder without one is new. */
  readonly exists: boolean;
  readonly #options: KeyStoreOptions;
  readonly #path: string;
  readonly #file: KeyFile;
  #isClosed = false;
  /** The change that is being made, or the last one: one process queues here, not at the lock. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(options: KeyStoreOptions, path: string, file: KeyFile) {
    this.#options = options;
    this.#path = path;
    this.#file = file;
    this.exists = file.exists;
  }

  /** @throws {KeyError} `key_file_damaged`: it names line and byte, and a revocation may have been lost there */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const { disk, clock, report } = options;
    const path = join(options.dataDir, fileName);
    const onUnban = options.onUnban ?? (() => undefined);
    const file = await KeyFile.open({ disk, clock, path, report, onUnban });
    return new KeyStore(options, path, file);
  }

  /** Always the same one. */
  get keyring(): Keyring {
    return this.#file.ring;
  }

  /** Looks once at what others changed. Never rejects. Looks never overlap: whoever asks twice waits for the same. */
  async follow(): Promise<void> {
    if (!this.#isClosed) {
      await this.#file.follow();
    }
  }

  /** Every key that was ever made, in the order of making, as the file has it now. */
  async list(): Promise<ApiKey[]> {
    await this.#file.refresh();
    return this.keyring.list();
  }

  /**
   * Makes a key; without a plan a Free one (contract, section 1).
   *
   * @throws {RangeError} when plan, label or expiry are not as they have to be
   */
  async create(choice: KeyChoice = {}): Promise<NewSecret> {
    const { clock, disk, dataDir, randomBytes } = this.#options;
    this.#mustBeOpen();
    checkChoice(choice);
    const plan = this.#chosenPlan(choice);
    const label = checkedLabel(choice.label);
    const expiresMs = choice.expires === undefined ? undefined : expiryMs(choice.expires, clock.wallMs());
    await disk.makeFolder(dataDir);
    const id = createKeyId(randomBytes);
    const key = createSecret(randomBytes);
    await this.#write(() => {
      if (this.keyring.get(id) !== undefined) {
        throw new Error("Cannot create key: the random numbers repeat themselves");
      }
      return { event: "made", timeMs: clock.wallMs(), id, sha256: digestOf(key), plan, label, expiresMs };
    });
    return { id, key };
  }

  /** Ends a key for good. One that was revoked before stays as it is, since that is what was asked for. */
  async revoke(id: string): Promise<void> {
    await this.#change(id, "revoke", (key, timeMs) => {
      return key.revokedMs === undefined ? { event: "revoked", timeMs, id } : undefined;
    });
  }

  /** @throws {RangeError} when there is no such plan, or its numbers are not as they have to be */
  async plan(id: string, choice: PlanChoice & { readonly plan: string }): Promise<void> {
    const plan = this.#chosenPlan(choice);
    await this.#change(id, "change", (_key, timeMs) => ({ event: "plan", timeMs, id, plan }));
  }

  /**
   * Gives the key a new secret. The one it had works `graceSeconds` longer (default 0, at most `graceSecondsMax`), and
   * older ones no longer than that.
   *
   * @throws {RangeError} when the grace is no integer within its bounds
   */
  async rotate(id: string, options: { readonly graceSeconds?: number | undefined } = {}): Promise<NewSecret> {
    const graceSeconds = options.graceSeconds ?? 0;
    if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > graceSecondsMax) {
      throw new RangeError(
        `Cannot rotate key: grace must be an integer from 0 to ${graceSecondsMax} seconds, received ${graceSeconds}`,
      );
    }
    const key = createSecret(this.#options.randomBytes);
    await this.#change(id, "rotate", (apiKey, timeMs) => {
      if (keyState(apiKey, timeMs) === "expired") {
        throw new KeyError("expired_key", `Cannot rotate key: ${id} has expired, and a new secret would not help`);
      }
      return { event: "rotated", timeMs, id, sha256: digestOf(key), graceUntilMs: timeMs + graceSeconds * 1_000 };
    });
    return { id, key };
  }

  /** Lifts a ban, if there is one: bans are the limiter's, which hears of this through `onUnban`. */
  async unban(id: string): Promise<void> {
    await this.#change(id, "unban", (_key, timeMs) => ({ event: "unbanned", timeMs, id }));
  }

  /** Resolves when nothing is under way any more; from then on nobody is followed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#changing;
    await this.#file.follow();
  }

  #chosenPlan({ plan, perMinute, perDay }: PlanChoice): Plan {
    return createPlan(plan ?? defaultPlan, {
      ...(perMinute === undefined ? {} : { perMinute }),
      ...(perDay === undefined ? {} : { perDay }),
    });
  }

  /**
   * Appends the event that `decide` makes of the key as it then is; none: nothing is written.
   *
   * @throws {KeyError} `unknown_key`; `revoked_key`, but for `revoke`; `key_file_damaged`
   */
  async #change(id: string, verb: Verb, decide: (key: ApiKey, timeMs: number) => KeyEvent | undefined): Promise<void> {
    this.#mustBeOpen();
    await this.#file.refresh();
    // Asked before the lock, which needs a folder that a mistyped path does not have.
    this.#known(id, verb);
    await this.#write(() => decide(this.#known(id, verb), this.#options.clock.wallMs()));
  }

  #mustBeOpen(): void {
    if (this.#isClosed) {
      throw new Error("Cannot change keys: the service is closed");
    }
  }

  /** A secret pasted in the place of an id is not repeated: messages end in logs. */
  #known(id: string, verb: Verb): ApiKey {
    if (!isKeyId(id)) {
      const form = '"key_" and 15 letters and digits; see keys list';
      throw new KeyError("unknown_key", `Cannot ${verb} key: what was given is no key's id (${form})`);
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

  #write(decide: () => KeyEvent | undefined): Promise<void> {
    const change = this.#changing.then(() => this.#writeNow(decide));
    // Its failure is for whoever asked for that change, not for the one who comes after it.
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async #writeNow(decide: () => KeyEvent | undefined): Promise<void> {
    await updateUnderLock(this.#options.disk, this.#path, async () => {
      await this.#file.readUnderLock();
      const event = decide();
      return { lines: event === undefined ? [] : [encodeKeyEvent(event)], lengthBytes: this.#file.offset };
    });
    await this.#file.refresh();
  }
}
