/**
 * The texts that animals had before they were corrected, for requests that are repeated. Each is kept until no
 * idempotency hash counts any more that is older than its correction. It has no clock: its callers say what time it is.
 */

import { idempotencySecondsMax } from "./idempotency-table.ts";

interface FormerText {
  /** The last version of the animal that had the text. */
  readonly until: number;
  readonly text: string;
}

export class FormerTexts {
  /** By the animal's id, in the order of the versions. */
  #newer = new Map<number, FormerText[]>();
  #older = new Map<number, FormerText[]>();
  #newerSinceSeconds = -Infinity;

  add(id: number, former: FormerText, nowSeconds: number): void {
    if (nowSeconds - this.#newerSinceSeconds >= idempotencySecondsMax) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#newerSinceSeconds = nowSeconds;
    }
    const texts = this.#newer.get(id);
    if (texts === undefined) {
      this.#newer.set(id, [former]);
    } else {
      texts.push(former);
    }
  }

  /** The text that the animal had in that version; undefined if it has it still. */
  find(id: number, version: number): string | undefined {
    const isOf = ({ until }: FormerText): boolean => version <= until;
    return (this.#older.get(id)?.find(isOf) ?? this.#newer.get(id)?.find(isOf))?.text;
  }
}
