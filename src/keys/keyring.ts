/**
 * The keys in memory. Applies events to them, and finds the key of a request.
 *
 * A key has one credential for each secret that still works: the newest, and old ones in their grace period. It is
 * found by the SHA-256 of the secret. A client sends the same Authorization field with every request, so the values of
 * valid fields are cached. A look-up in a hashed map reveals nothing about a secret by its timing.
 */

import type { Clock } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import { detachedCopy } from "../base/texts.ts";
import { createPlan } from "../limits/plans.ts";
import { type KeyEvent, kindOf } from "./key-events.ts";
import { type ApiKey, digestOf, isSecret, keyState, secretLength } from "./key.ts";

/**
 * Unknown, revoked and expired keys and replaced secrets are all `invalid`, and indistinguishable. A secret that is not
 * known here is `unavailable` while keys made by other processes cannot be read.
 */
export type Authentication =
  | { readonly kind: "missing" }
  | { readonly kind: "invalid" }
  | { readonly kind: "unavailable" }
  | { readonly kind: "key"; readonly key: ApiKey };

interface HeldKey {
  result: { readonly kind: "key"; readonly key: ApiKey };
  credentials: readonly Credential[];
}

interface Credential {
  readonly digest: string;
  readonly held: HeldKey;
  /** The secret works until then, unless the key expires first: the end of the grace period after a rotation. */
  untilMs: number;
}

/** A key before its `made` event. */
const noKey: ApiKey = {
  ...{ id: "", plan: createPlan("free"), label: undefined, isReadOnly: false, createdMs: 0, expiresMs: undefined },
  ...{ revokedMs: undefined, graceUntilMs: undefined },
};

const missing: Authentication = { kind: "missing" };
const invalid: Authentication = { kind: "invalid" };
const unavailable: Authentication = { kind: "unavailable" };

/** How many Authorization fields are cached: they take about 2 MB. */
export const fieldsMax = 10_000;

/** Only fields of this length are cached: values padded with spaces would need more memory. */
const usualFieldLength = "Bearer ".length + secretLength;

/**
 * RFC 6750, 2.1. A scheme is a whole token (RFC 9110, 11.1): `Bearers` and `Bearer-2` are other schemes. Linear in the
 * field's length: no character fits two neighbouring parts.
 */
const bearer = /^Bearer(?![!#$%&'*+\-.^_`|~0-9A-Za-z])(?: +([0-9A-Za-z\-._~+/]+=*)$)?/i;

/**
 * Returns the token of an Authorization field. Returns undefined if there is no field or it has another scheme: the
 * client has sent no key. Returns "" if no well-formed token follows: it has sent a wrong key, because no key is empty.
 */
export function bearerToken(field: string | undefined): string | undefined {
  const match = bearer.exec(field ?? "");
  return match === null ? undefined : (match[1] ?? "");
}

export class Keyring {
  readonly #clock: Clock;
  readonly #isCurrent: () => boolean;
  #keys = new Map<string, HeldKey>();
  #credentials = new Map<string, Credential>();
  readonly #fields = new Map<string, Credential>();

  /** @param options `isCurrent` says whether all keys are known here (default: they always are) */
  constructor({ clock, isCurrent = () => true }: { readonly clock: Clock; readonly isCurrent?: () => boolean }) {
    this.#clock = clock;
    this.#isCurrent = isCurrent;
  }

  /** Finds the key for an Authorization field. Expiry and grace period follow the wall clock: they are dates. */
  authenticate(field: string | undefined): Authentication {
    const cached = field === undefined ? undefined : this.#fields.get(field);
    if (cached !== undefined) {
      return this.#resultOf(cached);
    }
    const secret = bearerToken(field);
    if (field === undefined || secret === undefined) {
      return missing;
    }
    if (!isSecret(secret)) {
      return invalid;
    }
    const credential = this.#credentials.get(digestOf(secret));
    if (credential === undefined) {
      return this.#isCurrent() ? invalid : unavailable;
    }
    const result = this.#resultOf(credential);
    if (result.kind === "key" && field.length === usualFieldLength) {
      if (this.#fields.size >= fieldsMax) {
        this.#fields.clear();
      }
      this.#fields.set(detachedCopy(field), credential);
    }
    return result;
  }

  /** Returns every key, revoked ones too, in the order in which they were made. */
  list(): ApiKey[] {
    return Array.from(this.#keys.values(), ({ result }) => result.key);
  }

  get(id: string): ApiKey | undefined {
    return this.#keys.get(id)?.result.key;
  }

  /** How many keys there are: "3 keys", or "3 keys, 2 of them active" if some are revoked or expired. */
  countInWords(): string {
    const keys = this.list();
    const activeCount = keys.filter((key) => keyState(key, this.#clock.wallMs()) === "active").length;
    const all = pluralize(keys.length, "key");
    return activeCount === keys.length ? all : `${all}, ${activeCount} of them active`;
  }

  get fieldCount(): number {
    return this.#fields.size;
  }

  /** Why the event cannot happen, or cannot have happened; undefined if it can. */
  faultOf(event: KeyEvent): string | undefined {
    const key = this.get(event.id);
    const isSecretKnown = "sha256" in event && this.#credentials.has(event.sha256);
    if (event.event === "made") {
      const fault = isSecretKnown ? "the secret of another key was made again" : undefined;
      return key === undefined ? fault : `the key ${event.id} was made twice`;
    }
    if (key === undefined) {
      return `the key ${event.id} was never made`;
    }
    if (key.revokedMs !== undefined) {
      return `the key ${event.id} had been revoked`;
    }
    return isSecretKnown ? "its secret was made before" : undefined;
  }

  /** Applies the next event. If it cannot have happened, changes nothing and returns why. */
  apply(event: KeyEvent): string | undefined {
    const fault = this.faultOf(event);
    if (fault !== undefined) {
      return fault;
    }
    const { change, secretsEndMs } = kindOf(event);
    const held = this.#keys.get(event.id) ?? { result: { kind: "key", key: noKey }, credentials: [] };
    this.#keys.set(event.id, held);
    held.result = { kind: "key", key: { ...held.result.key, ...change(event, held.result.key) } };
    if (secretsEndMs !== undefined) {
      this.#limitSecrets(held, secretsEndMs(event), event.timeMs);
    }
    if ("sha256" in event) {
      this.#addSecret(held, event.sha256);
    }
    this.#fields.clear();
    return undefined;
  }

  /** Takes the keys of another keyring in place of its own. The other one is not to be used any more. */
  takeOver(other: Keyring): void {
    this.#keys = other.#keys;
    this.#credentials = other.#credentials;
    this.#fields.clear();
  }

  #resultOf({ untilMs, held }: Credential): Authentication {
    const { expiresMs = Infinity } = held.result.key;
    const endMs = Math.min(untilMs, expiresMs);
    return endMs === Infinity || this.#clock.wallMs() < endMs ? held.result : invalid;
  }

  #addSecret(held: HeldKey, digest: string): void {
    const credential = { digest, held, untilMs: Infinity };
    this.#credentials.set(digest, credential);
    held.credentials = [...held.credentials, credential];
  }

  /**
   * Ends the key's secrets at `untilMs` at the latest: no rotation prolongs an earlier grace period. Removes secrets
   * that have ended, so that no clock step makes them valid again.
   */
  #limitSecrets(held: HeldKey, untilMs: number, nowMs: number): void {
    for (const credential of held.credentials) {
      credential.untilMs = Math.min(credential.untilMs, untilMs);
      if (credential.untilMs <= nowMs) {
        this.#credentials.delete(credential.digest);
      }
    }
    held.credentials = held.credentials.filter((credential) => credential.untilMs > nowMs);
  }
}
