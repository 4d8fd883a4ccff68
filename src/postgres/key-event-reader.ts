/** Applies the rows of `key_events` to a keyring, in their order, so that none is passed over. */

import { decodeKeyText } from "../keys/key-line.ts";
import { KeyError } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Row } from "./pool.ts";

export class KeyEventReader {
  readonly keyring: Keyring;
  /** The number of the last event that was applied, and its line. Only this class changes them. */
  seq = 0;
  lastLine: string | undefined;

  constructor(keyring: Keyring) {
    this.keyring = keyring;
  }

  /**
   * Applies the events that are new.
   * @param rows with the columns `seq` and `line`
   * @throws {KeyError} `key_file_damaged`: an event cannot be read, or is missing, so no later one may be applied
   */
  applyAll(rows: readonly Row[]): void {
    for (const row of rows) {
      const [seq, line] = [Number(row["seq"]), String(row["line"])];
      if (seq <= this.seq) {
        continue;
      }
      const fault = seq === this.seq + 1 ? this.#apply(line) : "the events before it are missing";
      if (fault !== undefined) {
        throw new KeyError("key_file_damaged", `Cannot read keys: key event ${seq} in the database: ${fault}`);
      }
      [this.seq, this.lastLine] = [seq, line];
    }
  }

  /** Takes the keys of another reader, which must not be used after that. */
  takeOver({ keyring, seq, lastLine }: KeyEventReader): void {
    this.keyring.takeOver(keyring);
    [this.seq, this.lastLine] = [seq, lastLine];
  }

  /** Returns why the event cannot be applied; undefined if it was. */
  #apply(line: string): string | undefined {
    const reading = decodeKeyText(line);
    return reading.kind === "event" ? this.keyring.apply(reading.event) : reading.reason;
  }
}
