/**
 * The keys as events made them, and the answer to "whose request is this?".
 *
 * A key has one credential for each secret that may still open it: the newest, and old ones whose grace runs. They are
 * found by the SHA-256 of the secret. Because a client sends the same field with every request, the value of a field
 * that opened a key is remembered, and found again with one look-up, without parsing or hashing. What did not open a
 * key leaves nothing behind. Comparing digests, or whole values in a hashed map, tells an attacker's stopwatch nothing
 * about a secret.
 *
 * Reads no file and knows nothing of bans.
 */

import type { Clock } from "../disk/clock.ts";
import { bearerToken } from "./bearer.ts";
import type { ApiKey, KeyEvent } from "./key.ts";
import { digestOf, isSecret, secretLength } from "./key.ts";

/** Unknown, revoked, expired and rotated away are all the same `invalid` (contract, section 6). */
export type Authentication =
  | { readonly kind: "missing" }
  | { readonly kind: "invalid" }
  | { readonly kind: "key"; readonly key: ApiKey };

/** A key's place in the ring. The answer is made when the key changes, not when it is asked for. */
interface Entry {
  answer: { readonly kind: "key"; readonly key: ApiKey };
  credentials: readonly Credential[];
}

/** A secret that opens a key. */
interface Credential {
  readonly digest: string;
  readonly entry: Entry;
  /** It opens the key before this instant: the key's expiry, or the end of the grace after a rotation. */
  untilMs: number;
}

const missing: Authentication = { kind: "missing" };
const invalid: Authentication = { kind: "invalid" };

/** How many values of fields are remembered at most: about 2 MB. */
export const fieldsMax = 10_000;

/** Only fields of this length, one space in them, are remembered: values padded with spaces would cost memory. */
const usualFieldLength = "Bearer ".length + secretLength;

export class Keyring {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #credentials = new Map<string, Credential>();
  readonly #fields = new Map<string, Credential>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /**
   * Whose request it is, by the value of its only Authorization field. Expiry and grace follow the wall clock, since
   * they are dates. `missing` where there is no field or another scheme, else `invalid`, whatever the reason
   * (contract, sections 4 and 6).
   */
  authenticate(field: string | undefined): Authentication {
    if (field === undefined) {
      return missing;
    }
    const remembered = this.#fields.get(field);
    if (remembered !== undefined) {
      return this.#answer(remembered);
    }
    const secret = bearerToken(field);
    if (secret === undefined) {
      return missing;
    }
    const credential = isSecret(secret) ? this.#credentials.get(digestOf(secret)) : undefined;
    if (credential === undefined) {
      return invalid;
    }
    const answer = this.#answer(credential);
    if (answer.kind === "key" && field.length === usualFieldLength) {
      this.#remember(field, credential);
    }
    return answer;
  }

  /** Every key that was ever made, in the order of making. */
  list(): ApiKey[] {
    return Array.from(this.#entries.values(), (entry) => entry.answer.key);
  }

  get(id: string): ApiKey | undefined {
    return this.#entries.get(id)?.answer.key;
  }

  /** How many values of fields are remembered now: at most `fieldsMax`. */
  get fieldCount(): number {
    return this.#fields.size;
  }

  /**
   * Takes the next event; it holds from the next `authenticate` on. Returns why it cannot be, where it cannot, and then
   * has changed nothing.
   */
  apply(event: KeyEvent): string | undefined {
    const fault = event.event === "made" ? this.#make(event) : this.#change(event);
    if (fault === undefined) {
      this.#fields.clear();
    }
    return fault;
  }

  #answer(credential: Credential): Authentication {
    const { untilMs, entry } = credential;
    return untilMs === Infinity || this.#clock.wallMs() < untilMs ? entry.answer : invalid;
  }

  /** Valid keys alone fill this, in up to 64 spellings of the scheme each; starting anew is cheap and rare. */
  #remember(field: string, credential: Credential): void {
    if (this.#fields.size >= fieldsMax) {
      this.#fields.clear();
    }
    this.#fields.set(field, credential);
  }

  #make(event: KeyEvent & { readonly event: "made" }): string | undefined {
    if (this.#entries.has(event.id)) {
      return `the key ${event.id} is made twice`;
    }
    if (this.#credentials.has(event.sha256)) {
      return "a secret is given out twice";
    }
    const { id, plan, label, expiresMs } = event;
    const never = { revokedMs: undefined, graceUntilMs: undefined, unbannedMs: undefined };
    const key = { id, plan, label, createdMs: event.timeMs, expiresMs, ...never };
    const entry: Entry = { answer: { kind: "key", key }, credentials: [] };
    this.#entries.set(id, entry);
    this.#addSecret(entry, event.sha256);
    return undefined;
  }

  #change(event: Exclude<KeyEvent, { readonly event: "made" }>): string | undefined {
    const entry = this.#entries.get(event.id);
    if (entry === undefined) {
      return `the key ${event.id} was never made`;
    }
    const { key } = entry.answer;
    if (key.revokedMs !== undefined) {
      return `the key ${event.id} was revoked before`;
    }
    switch (event.event) {
      case "revoked":
        this.#narrow(entry, event.timeMs, event.timeMs);
        entry.answer = { kind: "key", key: { ...key, revokedMs: event.timeMs } };
        return undefined;
      case "plan":
        entry.answer = { kind: "key", key: { ...key, plan: event.plan } };
        return undefined;
      case "rotated":
        return this.#rotate(entry, event);
      case "unbanned":
        entry.answer = { kind: "key", key: { ...key, unbannedMs: event.timeMs } };
        return undefined;
    }
  }

  #rotate(entry: Entry, event: KeyEvent & { readonly event: "rotated" }): string | undefined {
    if (this.#credentials.has(event.sha256)) {
      return "a secret is given out twice";
    }
    this.#narrow(entry, event.graceUntilMs, event.timeMs);
    this.#addSecret(entry, event.sha256);
    const graceUntilMs = event.graceUntilMs > event.timeMs ? event.graceUntilMs : undefined;
    entry.answer = { kind: "key", key: { ...entry.answer.key, graceUntilMs } };
    return undefined;
  }

  #addSecret(entry: Entry, digest: string): void {
    const credential = { digest, entry, untilMs: entry.answer.key.expiresMs ?? Infinity };
    this.#credentials.set(digest, credential);
    entry.credentials = [...entry.credentials, credential];
  }

  /**
   * Lets the key's secrets work until then at most, so the latest rotation rules over those before it, and forgets
   * those whose time is over: no later step of the clock brings them back.
   */
  #narrow(entry: Entry, untilMs: number, nowMs: number): void {
    for (const credential of entry.credentials) {
      credential.untilMs = Math.min(credential.untilMs, untilMs);
      if (credential.untilMs <= nowMs) {
        this.#credentials.delete(credential.digest);
      }
    }
    entry.credentials = entry.credentials.filter((credential) => credential.untilMs > nowMs);
  }
}
