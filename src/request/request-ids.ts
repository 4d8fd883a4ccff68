/** The id of each request, in `X-Request-Id` and in the log. */

import { randomBytes } from "node:crypto";

import { withoutSecrets } from "../base/redact-secrets.ts";

/** A client's own id goes into logs and fields, so it must be short and plain. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

const prefixBytes = 6;
/**
 * So few that V8's cache of printed numbers holds all of them: with ever new numbers, it fills the old generation with
 * texts.
 */
const countMax = 1_000;

export class RequestIds {
  #prefix = "";
  #count = countMax;

  /** The client's `X-Request-Id` if it is short and plain and contains no key; otherwise a new id. */
  choose(clientId: string | string[] | undefined): string {
    const isPlain = typeof clientId === "string" && clientIdPattern.test(clientId);
    return isPlain && withoutSecrets(clientId) === clientId ? clientId : this.next();
  }

  /** A random prefix and a count: two processes hardly ever make the same one. */
  next(): string {
    if (this.#count === countMax) {
      this.#prefix = randomBytes(prefixBytes).toString("base64url");
      this.#count = 0;
    }
    return `${this.#prefix}${this.#count++}`;
  }
}
