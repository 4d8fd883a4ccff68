/**
 * The id of a request. Its response and the request log contain it.
 */

import { randomBytes } from "node:crypto";

import { withoutSecrets } from "../base/redact-secrets.ts";

/** A client's own id goes into logs and fields, so it must be short and plain. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

const prefixBytes = 6;
/**
 * Few numbers, because V8 keeps the text of each number that is printed for a while. With a new number for every
 * request, these texts became garbage that outlives a collection.
 */
const countMax = 1_000;

export class RequestIds {
  #prefix = randomPrefix();
  #count = 0;

  /** The client's `X-Request-Id` if it is short and plain and contains no key; otherwise a new id. */
  choose(clientId: string | string[] | undefined): string {
    if (typeof clientId === "string" && clientIdPattern.test(clientId) && withoutSecrets(clientId) === clientId) {
      return clientId;
    }
    return this.next();
  }

  /** A random prefix and a count: rarely equal in two processes. */
  next(): string {
    if (this.#count === countMax) {
      this.#prefix = randomPrefix();
      this.#count = 0;
    }
    return `${this.#prefix}${this.#count++}`;
  }
}

function randomPrefix(): string {
  return randomBytes(prefixBytes).toString("base64url");
}
