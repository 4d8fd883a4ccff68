/** What goes into the client and comes out of it. Types only: at run time the client is one file. */

import type { ErrorCode as ServiceErrorCode } from "../http/errors.ts";
import type { PetStatus } from "../pets/members.ts";

export type { PetStatus };

export interface Pet {
  readonly id: number;
  readonly name: string;
  /** A number if it is a safe integer, otherwise a bigint, which `JSON.stringify` refuses. */
  readonly categoryId: number | bigint;
  readonly status: PetStatus;
}

/** What a call about one animal resolves to: what `from` takes. */
export interface VersionedPet extends Pet {
  /** 1 when the animal is added, one more with each change. Undefined if something in between hides the `ETag`. */
  readonly version: number | undefined;
}

/** What a call that adds or changes resolves to. */
export interface WrittenPet extends VersionedPet {
  /** An earlier call with the same `idempotencyKey` did this: it is the animal as it was then. */
  readonly isReplay?: true;
}

export interface NewPet {
  /** 1 to 255 code points, not only white space. */
  readonly name: string;
  /** An int64; a number must be a safe integer. */
  readonly categoryId: number | bigint;
  /** Default "available". */
  readonly status?: PetStatus | undefined;
}

/** The members that get another value: at least one. */
export type PetChange = { readonly [Name in keyof NewPet]?: NewPet[Name] | undefined };

export interface PetPage {
  /** Ascending by id. */
  readonly pets: readonly Pet[];
  /** The `after` of the next page; undefined if there is none. A page that follows a full one may be empty. */
  readonly nextAfter: number | undefined;
}

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. What it sent may have been done. */
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  readonly status?: PetStatus | undefined;
  readonly categoryId?: number | bigint | undefined;
  /** The most animals of a page: 1 to 100 (default 20; for `all` 100). */
  readonly limit?: number | undefined;
  /** Only animals with a greater id. */
  readonly after?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  /** For a call that may be made again: 1 to 255 visible ASCII characters but `"`. By default each call has its own. */
  readonly idempotencyKey?: string | null | undefined;
}

export interface ChangeOptions extends WriteOptions {
  /** What the animal must be before the change: of a status, of one of several, or as it was in a version. */
  readonly from: PetStatus | readonly PetStatus[] | PetState;
}

/** An animal as it was in a version, or what is kept of it. */
export interface PetState {
  readonly id?: number | undefined;
  readonly status: PetStatus;
  readonly version: number | undefined;
}

export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends, in Unix seconds. */
  readonly reset: number;
}

export interface Limits {
  readonly plan: "free" | "pro" | "business" | "enterprise";
  /** Whether the key may only list and fetch. */
  readonly readOnly: boolean;
  readonly minute: Quota;
  readonly day: Quota;
}

/** The service's codes, and the client's own: no response came, or one that is not the service's. */
export type ErrorCode = ServiceErrorCode | "no_response" | "unexpected_response";

export interface ClientOptions {
  /** The address of the API, such as "https://example.com/v1". */
  readonly url: string | URL;
  readonly key: string;
  /** How long a call may take, with all its tries and waits (default 120,000 ms). */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent, at most (default 10). */
  readonly triesMax?: number | undefined;
}

/** @internal The integers of an animal, so that the compiler asks for each of them. */
export type Integers = {
  readonly [Name in keyof NewPet as bigint extends NewPet[Name] ? Name : never]-?:
    undefined extends NewPet[Name] ? "optional" : "required";
};

/** @internal */
export interface ApiRequest extends CallOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path and the query below the address of the API. */
  readonly target: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: string;
}

/** @internal */
export interface ApiResponse {
  readonly status: number;
  readonly text: string;
  readonly field: (name: string) => string | null | undefined;
  /** An earlier try of the call may have reached the service. */
  readonly mayBeOwn?: boolean;
}
