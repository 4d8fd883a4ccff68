/**
 * The log of key events as the store of keys knows it. One log is a file (key-file.ts), another one a table that
 * several processes share (postgres/postgres-key-log.ts).
 */

import type { KeyEvent } from "./key.ts";
import type { Keyring } from "./keyring.ts";

export abstract class KeyLog {
  /** The keys that the events read so far give. Always the same object. */
  abstract readonly keyring: Keyring;
  /** Whether a log was found, even an empty one. If not, nobody has made a key yet. */
  abstract readonly exists: boolean;
  #following: Promise<void> | undefined;
  /** Applies what others have appended. Unless it is patient, it waits for no other process. Never rejects. */
  protected abstract look(isPatient: boolean): Promise<void>;

  /** Begins a look, or joins the one under way. */
  follow(isPatient = false): Promise<void> {
    this.#following ??= this.look(isPatient).finally(() => {
      this.#following = undefined;
    });
    return this.#following;
  }

  /** A look that begins after this call, so that it sees everything written before. */
  async refresh(): Promise<void> {
    while (this.#following !== undefined) {
      await this.#following;
    }
    await this.follow(true);
  }

  /** Resolves when no look is under way. */
  async settled(): Promise<void> {
    await this.#following;
  }

  /**
   * Applies what others have appended, then appends the event that `decide` returns, if any, before anybody else does.
   * `decide` may be called several times. When this resolves, the event is durable, and the keyring has it.
   * @throws {Error} what `decide` throws, or why the log cannot be read or written
   */
  abstract append(decide: () => KeyEvent | undefined): Promise<void>;
}
