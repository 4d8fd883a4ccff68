/** The client, for Node, browsers, Deno and Bun. It imports nothing, so a page needs this file alone. */

import type {
  ApiRequest,
  ApiResponse,
  CallOptions,
  ChangeOptions,
  ClientOptions,
  ErrorCode,
  Limits,
  ListOptions,
  NewPet,
  Pet,
  PetPage,
  PetStatus,
  WriteOptions,
} from "./types.ts";

export type * from "./types.ts";

export class AnimalStoreError extends Error {
  override readonly name = "AnimalStoreError";
  declare readonly code: ErrorCode;
  /** Of HTTP; undefined if no response came. */
  declare readonly status: number | undefined;
  /** Names the request in the service's log. */
  declare readonly requestId: string | undefined;
  /** In how many seconds the service takes the next request, if it said so. */
  declare readonly retryAfter: number | undefined;
  /** With "precondition_failed": what the animal is now. */
  declare readonly petStatus: PetStatus | undefined;

  /** @internal */
  constructor(message: string, details: Partial<AnimalStoreError>) {
    super(withoutKeys(message));
    Object.assign(this, details);
  }
}

/**
 * The animals of a service. Calls reject with an AnimalStoreError, or, before anything is sent, with a RangeError for
 * an id, a `categoryId`, a `from` or an `idempotencyKey` that is wrong.
 */
export class Pets {
  readonly #send: (request: ApiRequest) => Promise<ApiResponse>;

  /** @internal @param send rejects if the status is not 2xx */
  constructor(send: (request: ApiRequest) => Promise<ApiResponse>) {
    this.#send = send;
  }

  /** Resolves when the animal is on disk. */
  async add(newPet: NewPet, options?: WriteOptions): Promise<Pet> {
    const members = Object.entries(checkIntegers(given(newPet))).filter(([, value]) => value !== undefined);
    const texts = members.map(([name, value]) => {
      return `${JSON.stringify(name)}:${typeof value === "bigint" ? value : (JSON.stringify(value) ?? "null")}`;
    });
    const content = `{${texts.join()}}`;
    return read(await this.#write({ method: "POST", target: "/pets", content }, options), checkIntegers<Pet>);
  }

  /** If there is no animal with the id, the code is "pet_not_found". */
  async get(id: number, options?: CallOptions): Promise<Pet> {
    checkId(id);
    const response = await this.#send({ target: `/pets?after=${id - 1}&limit=1`, signal: given(options).signal });
    const [pet] = petsIn(response);
    if (pet?.id !== id) {
      const details = { code: "pet_not_found", status: 404, requestId: requestIdOf(response) } as const;
      throw new AnimalStoreError(`There is no animal with the id ${id}.`, details);
    }
    return pet;
  }

  /** One page. */
  async list(options?: ListOptions): Promise<PetPage> {
    const { signal, ...query } = given(options);
    const entries = Object.entries(query).filter(([, value]) => value !== undefined);
    const parameters = entries.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    const response = await this.#send({ target: `/pets?${parameters}`, signal });
    const pets = petsIn(response);
    const next = /[?&]after=(\d+)[^>]*>; rel="next"/.exec(response.field("Link") ?? "");
    return { pets, nextAfter: next === null ? undefined : Number(next[1]) };
  }

  /** All pages. An animal that exists when it begins, and keeps its status, comes exactly once. */
  async *all(options?: ListOptions): AsyncGenerator<Pet, void, undefined> {
    const { limit = 100, after = 0, ...query } = given(options);
    for (let next: number | undefined = after; next !== undefined; ) {
      const page: PetPage = await this.list({ ...query, limit, after: next });
      yield* page.pets;
      next = page.nextAfter;
    }
  }

  /** Resolves when the change is on disk. If the status is none of `from`, the code is "precondition_failed". */
  async changeStatus(id: number, status: PetStatus, options: ChangeOptions): Promise<Pet> {
    checkId(id);
    const { from } = given(options);
    const names = [from].flat();
    const isRight = names.length > 0 && names.every((name) => statuses.includes(name));
    check(isRight, `from must be ${statuses.join(", ").replace(/,(?= \w+$)/, " or")}, or several`, from);
    const fields = { "If-Match": names.map((name) => `"${name}"`).join(", ") };
    const content = JSON.stringify({ status });
    const request = { method: "PATCH", target: `/pets/${id}`, content, fields } as const;
    return read(await this.#write(request, options), checkIntegers<Pet>);
  }

  #write(request: ApiRequest, options: WriteOptions | undefined): Promise<ApiResponse> {
    const { signal, idempotencyKey } = given(options);
    const key = idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join("-"); // `randomUUID` needs HTTPS.
    check(typeof key === "string" && /^[!#-~]+$/.test(key), "idempotencyKey must be visible ASCII without quotes", key);
    return this.#send({ ...request, signal, fields: { ...request.fields, "Idempotency-Key": key } });
  }
}

/** Before anything is sent: on the way a null or a NaN would be a text like any other. */
function check(isRight: boolean, rule: string, received: unknown): void {
  if (!isRight) {
    const text = Object(received) === received ? "an object" : String(received);
    throw new RangeError(withoutKeys(`${rule}, received ${typeof received === "string" ? `"${text}"` : text}`));
  }
}

function checkId(id: number): void {
  check(Number.isSafeInteger(id) && id > 0, "id must be an integer from 1 to 2^53 - 1, as a number", id);
}

/** The compiler asks for each status and each integer of types.ts. */
const statuses = Object.keys({ available: 0, pending: 0, sold: 0 } satisfies Record<PetStatus, 0>);

type IntegerOf<Animal> = { [Name in keyof Animal]-?: bigint extends Animal[Name] ? Name : never }[keyof Animal];
type Presence<Value> = undefined extends Value ? "optional" : "required";

const integers: { readonly [Name in IntegerOf<NewPet>]: Presence<NewPet[Name]> } = { categoryId: "required" };

function checkIntegers<Animal extends object>(pet: Animal): Animal {
  for (const [name, presence] of Object.entries<"required" | "optional">(integers)) {
    const value: unknown = pet[name as never];
    const isAbsent = value === undefined && presence === "optional";
    const isRight = isAbsent || typeof value === "bigint" || Number.isSafeInteger(value);
    check(isRight, `${name} must be a safe integer or a bigint`, value);
  }
  return pet;
}

/** What JavaScript leaves out, or gives as null, has no members. */
function given<Value extends object>(value: Value | null | undefined): Value {
  check(typeof (value ?? {}) === "object", "animals and options must be objects", value);
  return value ?? ({} as Value);
}

/** A proxy may show what it got. A part of a key counts as one. */
function withoutKeys(text: string): string {
  return text.replace(/as_\w+/g, "as_…");
}

function petsIn(response: ApiResponse): Pet[] {
  return read(response, (pets: readonly Pet[]) => pets.map(checkIntegers<Pet>));
}

function read<Parsed, Value = Parsed>(response: ApiResponse, convert: (parsed: Parsed) => Value): Value {
  try {
    return convert(parseExact(response.text) as Parsed);
  } catch {
    throw errorOf(response);
  }
}

/**
 * As `JSON.parse`, which rounds integers beyond 2^53: here they are bigints. Each long integer first becomes a string
 * that begins with U+0000, which no text of the service has. Within a string a quotation mark has a backslash before
 * it, so that the pattern finds members only.
 */
function parseExact(text: string): unknown {
  const marked = text.replace(/(\w"\s*:\s*)(-?\d{16,})(?=\s*[,}])/g, '$1"\\u0000$2"');
  return JSON.parse(marked, marked === text ? undefined : exactInteger);
}

function exactInteger(_: string, value: unknown): unknown {
  const digits = typeof value === "string" && value.startsWith("\0") ? value.slice(1) : undefined;
  return digits === undefined ? value : Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
}

function requestIdOf({ field }: Pick<ApiResponse, "field">): string | undefined {
  return withoutKeys(field("X-Request-Id") ?? "") || undefined;
}

/** The text of an error. Its message, a string of JSON, is matched to the end: a proxy may send anything. */
const errorPattern =
  /^\{"code":"(\w+)","message":("(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"),"status":\d+\}$/;

/** @internal The error that the service names, or that the response is. */
export function errorOf({ status, text, field }: ApiResponse): AnimalStoreError {
  const after = field("Retry-After") ?? "-"; // Seconds, or a date (RFC 9110, 10.2.3), by the clock of its sender.
  const dateMs = Date.parse(after) - (Date.parse(field("Date") ?? "") || Date.now());
  const seconds = Math.ceil(Number.isNaN(Number(after)) ? dateMs / 1_000 : Number(after));
  const retryAfter = seconds >= 0 ? seconds : undefined;
  const details = { status, requestId: requestIdOf({ field }), retryAfter };
  const [, code, said] = errorPattern.exec(text) ?? [];
  if (said === undefined) {
    const message = `HTTP ${status}, but no response of an animal store: ${withoutKeys(text).slice(0, 200)}`;
    return new AnimalStoreError(message, { ...details, code: "unexpected_response" });
  }
  // A proxy that compresses may have made it weak, or "sold-gzip".
  const petStatus = status === 412 ? (/"([a-z]+)/.exec(field("ETag") ?? "")?.[1] as PetStatus) : undefined;
  return new AnimalStoreError(JSON.parse(said), { ...details, code: code as ErrorCode, petStatus });
}

/** A response that takes longer is not waited for. */
const responseMs = 30_000;
/** The longest wait that the service asks for; whatever stands in between may ask for a year. */
const waitMsMax = 86_400_000;
/** One more, each in a second of its own, would be a ban. */
const refusalsMax = 9;
const minuteMs = 60_000;

/**
 * A certificate or a port that Node, Bun or Deno refuses, each in its words, or a port that speaks no TLS: it will be
 * refused again.
 */
const hopeless = /CERT|WRONG_VERSION|_SIGNATURE|peer cert|bad port|are blocked/;
const unknownName = /ENOTFOUND|not known/;

/** While 429 makes all calls wait. Times are those of `performance.now()`. */
interface Pause {
  readonly beganMs: number;
  readonly error: AnimalStoreError;
  readonly untilMs: number;
  /** From when on one call looks whether the pause is over: the operator may have helped. */
  lookMs: number;
  /** In how many seconds the service has refused requests, at most. */
  readonly refusals: number;
}

const now = (): number => performance.now();

/**
 * Any number of calls may use it at once. A request is sent again after a broken connection, 408, 429 and 5xx, an add
 * or a change with the same `Idempotency-Key`. After 429 no call sends anything as long as `Retry-After` says, but one
 * looks after 1, 2, 4, 8, … minutes: eight times at most, and never again once the key is banned.
 */
export class AnimalStoreClient {
  readonly pets = new Pets((request) => this.#send(request));
  readonly #options: ClientOptions & { readonly timeoutMs: number; readonly triesMax: number };
  #pause: Pause | undefined;
  #hasResponse = false;

  /**
   * @throws {TypeError} `url` is no address of http or https, or `key` has not the form of a key
   * @throws {RangeError} another option is wrong
   */
  constructor(options: ClientOptions) {
    const { url, key, timeoutMs, triesMax } = options;
    let address = "";
    try {
      address = new Request(url).url; // In a page it may be relative. "localhost:3000/v1" has the scheme "localhost".
    } catch {
      // What it says may have the password.
    }
    if (!/^https?:\/\/[^/@]+\/[^?#]*$/.test(address)) {
      const shown = withoutKeys(String(url).replace(/.*@/s, "…@"));
      throw new TypeError(`url must begin with http:// or https://, without user, query or #, received "${shown}"`);
    }
    if (!/^as_\w+$/.test(key)) {
      throw new TypeError("key must be an API key, which begins with as_");
    }
    this.#options = { url, key, timeoutMs: Number(timeoutMs ?? 120_000), triesMax: Number(triesMax ?? 10) };
    check(this.#options.timeoutMs > 0, "timeoutMs must be positive", timeoutMs);
    check(this.#options.triesMax > 0, "triesMax must be positive", triesMax);
  }

  /** What is left after this request, which counts too. */
  async limits(options?: CallOptions): Promise<Limits> {
    const response = await this.#send({ target: "/limits", signal: given(options).signal });
    return read(response, (limits: Limits) => limits);
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { timeoutMs, triesMax } = this.#options;
    const endMs = now() + timeoutMs;
    for (let tries = 1; ; tries++) {
      if (await this.#turn(endMs, request.signal)) {
        tries--; // It only looks.
      }
      const sentMs = now();
      const outcome = await this.#try(request, endMs);
      const isError = outcome instanceof AnimalStoreError;
      const { status = 500, code, retryAfter = 0 } = outcome as AnimalStoreError; // A response has a status.
      const isFinal = status < 500 && status !== 408 && status !== 429;
      if (isFinal && code !== "unexpected_response" && sentMs > (this.#pause?.beganMs ?? 0)) {
        this.#pause = undefined; // Only a request within the limit comes that far.
      }
      if (!isError) {
        return outcome;
      }
      // The random part keeps many clients from coming back at once.
      const backoffMs = Math.min(100 * 2 ** tries, 10_000) * (0.5 + Math.random() / 2);
      const askedMs = Math.min(1_000 * retryAfter, waitMsMax);
      const untilMs = now() + (status === 429 ? Math.max(askedMs, backoffMs) : askedMs + backoffMs);
      if (status === 429) {
        this.#refuse(outcome, sentMs, untilMs);
      }
      if (isFinal || tries >= triesMax || untilMs > endMs) {
        throw outcome;
      }
      await (status !== 429 && sleep(untilMs, request.signal));
    }
  }

  /** Waits until the call may send. Returns true if the others wait on. */
  async #turn(endMs: number, signal: AbortSignal | null | undefined): Promise<boolean> {
    for (;;) {
      signal?.throwIfAborted();
      const pause = this.#pause;
      if (pause === undefined || pause.untilMs <= now()) {
        return false;
      }
      const { beganMs, error, untilMs, lookMs } = pause;
      if (lookMs <= now()) {
        pause.lookMs = 2 * now() - beganMs;
        return true;
      }
      if (untilMs > endMs) {
        const leftMs = Math.round(untilMs - now()); // A sum of two times is not exact, and may be a hair too late.
        const retryAfter = error.retryAfter && Math.ceil(leftMs / 1_000);
        throw new AnimalStoreError(error.message, { ...error, retryAfter });
      }
      await sleep(Math.min(untilMs, lookMs, now() + minuteMs), signal);
    }
  }

  #refuse(error: AnimalStoreError, sentMs: number, untilMs: number): void {
    const { beganMs, lookMs, refusals } = this.#pause ?? { beganMs: now(), lookMs: 0, refusals: 0 };
    // What was under way when the pause began may have been refused in seconds of their own.
    const isLate = refusals > 0 && sentMs <= beganMs;
    const count = isLate ? Math.max(refusals, 2 + Math.floor((now() - beganMs) / 1_000)) : refusals + 1;
    const isLast = count >= refusalsMax || error.code === "key_banned";
    const nextMs = isLast ? Infinity : Math.max(lookMs, now() + minuteMs);
    this.#pause = { beganMs, error, untilMs, lookMs: nextMs, refusals: count };
  }

  /** @throws {AnimalStoreError} no try succeeds */
  async #try(request: ApiRequest, endMs: number): Promise<ApiResponse | AnimalStoreError> {
    const { method = "GET", target, fields, content = null, signal } = request;
    const { url, key } = this.#options;
    const limit = AbortSignal.timeout(Math.min(responseMs, Math.max(0, Math.ceil(endMs - now()))));
    const sent = new Request(url.replace(/\/$/, "") + target, {
      method,
      headers: { ...fields, ...(content && { "Content-Type": "application/json" }), Authorization: `Bearer ${key}` },
      body: content,
      redirect: "manual", // The key is for this address only.
      signal: signal == null ? limit : AbortSignal.any([signal, limit]),
      ...("cache" in Request.prototype && { cache: "no-store" }), // Frameworks keep others. Some workers know none.
    });
    try {
      const response = await fetch(sent);
      const { status, headers } = response;
      const answer = { status, text: await response.text(), field: (name: string) => headers.get(name) };
      this.#hasResponse = true;
      return response.ok ? answer : errorOf(answer);
    } catch (cause) {
      signal?.throwIfAborted();
      const { code, reason, message } = rootOf(cause);
      const details = { code: "no_response", cause } as const;
      const error = new AnimalStoreError(`No response of ${url}: ${reason || message || code}`, details);
      const text = `${code} ${message}`;
      if (hopeless.test(text) || (!this.#hasResponse && unknownName.test(text))) {
        throw error;
      }
      return error;
    }
  }
}

/** The reason is OpenSSL's, whose message has also its file and line. */
function rootOf(error: unknown): Readonly<Record<string, unknown>> {
  const { cause } = Object(error) as { readonly cause?: unknown };
  return cause ? rootOf(cause) : Object(error);
}

/** Until then, or until the signal is aborted. */
function sleep(untilMs: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, untilMs - now());
    signal?.addEventListener("abort", finish);
  });
}
