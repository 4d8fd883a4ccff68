/**
 * The id of a request, which its response and the request log carry.
 */

import { randomInt } from "node:crypto";

import { withoutSecrets } from "../keys/key.ts";

/** A client's own id goes into logs and fields, so it is short and plain. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

const numberMax = 36 ** 9;

export class RequestIds {
  /** Random at the start and counted up from there: unique in this process, and rarely equal in two. */
  #number = randomInt(numberMax);

  /** The client's `X-Request-Id` if it is fit to be shown and holds no key; otherwise a new id. */
  choose(clientId: string | string[] | undefined): string {
    if (typeof clientId === "string" && clientIdPattern.test(clientId) && withoutSecrets(clientId) === clientId) {
      return clientId;
    }
    return this.next();
  }

  next(): string {
    this.#number = (this.#number + 1) % numberMax;
    return this.#number.toString(36).padStart(9, "0");
  }
}
