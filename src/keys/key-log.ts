/**
 * The log of key events as the store of keys knows it. One log is a file (key-file.ts), another one a table that
 * several processes share (postgres/postgres-key-log.ts).
 */

import type { KeyEvent } from "./key.ts";
import type { Keyring } from "./keyring.ts";

export interface KeyLog {
  /** The keys that the events read so far give. Always the same object. */
  readonly keyring: Keyring;
  /** Whether a log was found, even an empty one. If not, nobody has made a key yet. */
  readonly exists: boolean;
  /** Applies what others have appended, if any can. Never rejects. */
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
