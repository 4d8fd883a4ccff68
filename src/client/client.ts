/** The client, for Node, browsers, Deno and Bun. It imports types only, so a page needs this file alone. */

import type {
  ApiRequest, ApiResponse, CallOptions, ChangeOptions, ClientOptions, ErrorCode, Integers, Limits, ListOptions, NewPet,
  Pet, PetChange, PetPage, PetState, PetStatus, VersionedPet, WriteOptions, WrittenPet,
} from "./types.ts";

export type * from "./types.ts";

export class AnimalStoreError extends Error {
  override readonly name = "AnimalStoreError";
  declare readonly code: ErrorCode;
  /** The HTTP status; undefined if no response came. */
  declare readonly status: number | undefined;
  /** Names the request in the service's log. */
  declare readonly requestId: string | undefined;
  /** In how many seconds the service takes the next request, if it said so. */
  declare readonly retryAfter: number | undefined;
  /** With "precondition_failed": what the animal is now. */
  declare readonly petStatus: PetStatus | undefined;
  /** With "precondition_failed": its version, unless something in between hides the `ETag`. */
  declare readonly petVersion: number | undefined;

  /** @internal */
  constructor(message: string, details: Partial<AnimalStoreError>) {
    super(withoutKeys(message));
    Object.assign(this, details);
  }
}

/**
 * The animals of a service. Calls reject with an AnimalStoreError, or, before anything is sent, with a RangeError for
 * an unknown option, or for an id, a `categoryId`, a `from` or an `idempotencyKey` that is wrong.
 */
export class Pets {
  readonly #send: (request: ApiRequest) => Promise<ApiResponse>;
  readonly #createKey: () => string | undefined;

  /**
   * @internal
   * @param send rejects if the status is not 2xx
   * @param createKey makes the idempotency key of a call that was given none
   */
  constructor(send: (request: ApiRequest) => Promise<ApiResponse>, createKey: () => string | undefined) {
    this.#send = send;
    this.#createKey = createKey;
  }

  /** Resolves when the animal is on disk. */
  async add(newPet: NewPet, options?: WriteOptions): Promise<WrittenPet> {
    const content = jsonOf(checkIntegers(objectOf(newPet)));
    const known = optionsOf(options, ["signal", "idempotencyKey"]);
    return this.#writePet({ method: "POST", target: "/pets", content }, known);
  }

  /**
   * If there is no animal with the id, the code is "pet_not_found". The operation that this calls is deprecated, but a
   * list has no versions. The release that removes it will have a client that needs it no more.
   */
  async get(id: number, options?: CallOptions): Promise<VersionedPet> {
    checkId(id);
    return petIn(await this.#send({ target: `/pets/${id}`, signal: optionsOf(options).signal }));
  }

  /** One page. */
  async list(options?: ListOptions): Promise<PetPage> {
    const { signal, ...query } = optionsOf(options, ["signal", "status", "categoryId", "limit", "after"]);
    const entries = Object.entries(checkIntegers(query, "optional")).filter(([, value]) => value !== undefined);
    const parameters = entries.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    const response = await this.#send({ target: `/pets?${parameters}`, signal });
    const pets = read(response, (all: readonly Pet[]) => all.map((pet) => checkIntegers(pet)));
    const link = response.field("Link");
    // The last page has no link, but a proxy may have hidden or dropped it: then a catalogue must not end in silence.
    const hasNext = link == null ? pets.length >= (query.limit ?? 20) : /[?&]after=\d+[^>]*>; rel="next"/.test(link);
    return { pets, nextAfter: hasNext ? pets.at(-1)?.id : undefined };
  }

  /** All pages. An animal that exists when it begins, and keeps what the options ask for, comes exactly once. */
  async *all(options?: ListOptions): AsyncGenerator<Pet, void, undefined> {
    const { limit = 100, after = 0, ...query } = objectOf(options);
    for (let next: number | undefined = after; next !== undefined; ) {
      const page: PetPage = await this.list({ ...query, limit, after: next });
      yield* page.pets;
      next = page.nextAfter;
    }
  }

  /** Resolves when the change is on disk. If the animal is not as `from` says, the code is "precondition_failed". */
  async change(id: number, change: PetChange, options: ChangeOptions): Promise<WrittenPet> {
    const [request, others] = conditional(id, options);
    const content = jsonOf(checkIntegers(objectOf(change), "optional"));
    return this.#writePet({ method: "PATCH", ...request, content }, others);
  }

  changeStatus(id: number, status: PetStatus, options: ChangeOptions): Promise<WrittenPet> {
    return this.change(id, { status }, options);
  }

  /** Takes back a mistake. Resolves when the removal is on disk; otherwise as `change`. */
  async remove(id: number, options: ChangeOptions): Promise<void> {
    const [request, others] = conditional(id, options);
    const response = await this.#write({ method: "DELETE", ...request }, others);
    if (response.status !== 204) {
      throw errorOf(response);
    }
  }

  async #writePet(request: ApiRequest, options: WriteOptions): Promise<WrittenPet> {
    const response = await this.#write(request, options);
    const isToldApart = options.idempotencyKey != null && !response.mayBeOwn;
    const isReplay = isToldApart && response.field("Idempotent-Replayed") === "true";
    return { ...petIn(response), ...(isReplay && { isReplay }) };
  }

  #write(request: ApiRequest, { signal, idempotencyKey }: WriteOptions): Promise<ApiResponse> {
    const key = idempotencyKey ?? this.#createKey();
    const isRight = key === undefined || (typeof key === "string" && /^[!#-~]+$/.test(key));
    check(isRight, "idempotencyKey must be visible ASCII without quotes", key);
    const fields = { ...request.fields, ...(key !== undefined && { "Idempotency-Key": key }) };
    return this.#send({ ...request, signal, fields });
  }
}

/** Checks before anything is sent: in a request a null or a NaN would be a text like any other. */
function check(isRight: boolean, rule: string, received: unknown): void {
  if (!isRight) {
    const text = Object(received) === received ? "an object" : String(received);
    throw new RangeError(withoutKeys(`${rule}, received ${typeof received === "string" ? `"${text}"` : text}`));
  }
}

/** The request that changes or removes the animal if it is as `from` says, and the other options. */
function conditional(id: number, options: ChangeOptions): readonly [Omit<ApiRequest, "method">, WriteOptions] {
  checkId(id);
  const { from, ...others } = optionsOf(options, ["signal", "from", "idempotencyKey"]);
  const isAnimal = Object(from) === from && !Array.isArray(from);
  const { id: ownId = id, status, version } = (isAnimal ? from : {}) as Partial<PetState>;
  check(ownId === id, `from must be animal ${id}, or a status`, ownId);
  const hasVersion = Number.isSafeInteger(version) && Number(version) > 0;
  check(!isAnimal || hasVersion, "from must have its version: get() the animal, as list() shows none", version);
  const names = isAnimal ? [status] : [from].flat();
  const isRight = names.length > 0 && names.every((name) => statuses.includes(name as string));
  check(isRight, `from must be ${statuses.join(", ")}, several, or an animal with its version`, from);
  const fields = { "If-Match": names.map((name) => `"${name}${isAnimal ? `-${version}` : ""}"`).join(", ") };
  return [{ target: `/pets/${id}`, fields }, others];
}

function checkId(id: number): void {
  check(Number.isSafeInteger(id) && id > 0, "id must be an integer from 1 to 2^53 - 1, as a number", id);
}

/** The types of these tables make the compiler ask for each status and each integer of types.ts. */
const statuses = Object.keys({ available: 0, pending: 0, sold: 0 } satisfies Record<PetStatus, 0>);

const integers: Integers = {
  categoryId: "required",
};

/** @param presence "optional" if any of them may be absent */
function checkIntegers<Animal extends object>(pet: Animal, presence: "required" | "optional" = "required"): Animal {
  for (const [name, ofMember] of Object.entries<string>(integers)) {
    const value: unknown = pet[name as never];
    const isAbsent = value === undefined && [presence, ofMember].includes("optional");
    const isInteger = typeof value === "bigint" || Number.isSafeInteger(value);
    check(isAbsent || isInteger, `${name} must be a safe integer or a bigint`, value);
  }
  return pet;
}

/** An object that a caller in JavaScript leaves out, or gives as null, has no members. */
function objectOf<Value extends object>(value: Value | null | undefined): Value {
  check(typeof (value ?? {}) === "object", "animals and options must be objects", value);
  return value ?? ({} as Value);
}

/** A misspelt option would otherwise be ignored without a word. */
function optionsOf<Options extends object>(value: Options | null | undefined, known = ["signal"]): Options {
  const options = objectOf(value);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  check(unknown === undefined, `an option must be one of ${known.join(", ")}`, unknown);
  return options;
}

/** One animal or several as the API has them, in exact JSON: `JSON.stringify` throws at a long `categoryId`. */
export function petToJson(pets: Pet | readonly Pet[]): string {
  const texts = [pets].flat().map((pet) => {
    const { version: _, isReplay: __, ...members } = pet as Partial<WrittenPet>;
    return jsonOf(checkIntegers(members));
  });
  return Array.isArray(pets) ? `[${texts.join()}]` : texts.join();
}

/** Leaves out what is undefined, as `JSON.stringify` does. What is none of JSON's becomes null, which is refused. */
function jsonOf(members: object): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const texts = given.map(([name, value]) => {
    return `${JSON.stringify(name)}:${typeof value === "bigint" ? value : (JSON.stringify(value) ?? "null")}`;
  });
  return `{${texts.join()}}`;
}

/** A proxy's text may repeat the request. A part of a key is replaced too. */
function withoutKeys(text: string): string {
  return text.replace(/as_\w+/g, "as_…");
}

function petIn(response: ApiResponse): VersionedPet {
  return { ...read(response, (pet: Pet) => checkIntegers(pet)), version: tagIn(response).petVersion };
}

/** An entity tag. A proxy that compresses may have made it weak, or `"sold-7-gzip"`, which is version 7 too. */
const tagPattern = new RegExp(`"(${statuses.join("|")})(?:-(\\d+))?`);

function tagIn({ field }: Pick<ApiResponse, "field">): Pick<AnimalStoreError, "petStatus" | "petVersion"> {
  const [, status, version] = tagPattern.exec(field("ETag") ?? "") ?? [];
  return { petStatus: status as PetStatus | undefined, petVersion: Number(version) || undefined };
}

function read<Parsed, Value = Parsed>(response: ApiResponse, convert: (parsed: Parsed) => Value): Value {
  try {
    return convert(parseExact(response.text) as Parsed);
  } catch {
    throw errorOf(response);
  }
}

/**
 * Parses as `JSON.parse` does, but makes bigints of integers beyond 2^53, which that would round. Each long integer
 * first becomes a string that begins with U+0000, which no text of the service has. Within a string a quotation mark
 * has a backslash before it, so the pattern finds members only.
 */
function parseExact(text: string): unknown {
  const marked = text.replace(/(\w"\s*:\s*)(-?\d{16,})(?=\s*[,}])/g, '$1"\\u0000$2"');
  return JSON.parse(marked, marked === text ? undefined : exactInteger);
}

function exactInteger(_: string, value: unknown): unknown {
  const digits = typeof value === "string" && value.startsWith("\0") ? value.slice(1) : undefined;
  return digits === undefined ? value : Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
}

/** Matches the content of an error. Its message, a string of JSON, is matched to the end: a proxy may send anything. */
const errorPattern =
  /^\{"code":"(\w+)","message":("(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"),"status":\d+\}$/;

/** @internal The error that the response names, or, if it is not the service's, one that says so. */
export function errorOf({ status, text, field }: ApiResponse): AnimalStoreError {
  const after = field("Retry-After") || "-"; // Seconds, or a date (RFC 9110, 10.2.3), by the clock of its sender.
  const dateMs = Date.parse(after) - (Date.parse(field("Date") ?? "") || Date.now());
  const seconds = Math.ceil(Number.isNaN(Number(after)) ? dateMs / 1_000 : Number(after));
  const retryAfter = seconds >= 0 ? seconds : undefined;
  const details = { status, requestId: withoutKeys(field("X-Request-Id") ?? "") || undefined, retryAfter };
  const [, code, said] = errorPattern.exec(text.slice(0, 65_536)) ?? []; // 16 MB would overflow the stack.
  if (said === undefined) {
    const message = `HTTP ${status}, but no response of an animal store: ${withoutKeys(text).slice(0, 200)}`;
    return new AnimalStoreError(message, { ...details, code: "unexpected_response" });
  }
  const pet = status === 412 ? tagIn({ field }) : {};
  return new AnimalStoreError(JSON.parse(said), { ...details, code: code as ErrorCode, ...pet });
}

/** A response that takes longer is not waited for. */
const responseMs = 30_000;
/** The longest wait that the service asks for; a proxy may ask for a year. */
const waitMsMax = 86_400_000;
/** So many requests may be under way: on a slow link each may be refused in a second of its own, and ten are a ban. */
const underWayMax = 9;

/** Matches failures that would come again: of a certificate, of a port that fetch refuses, or that speaks no TLS. */
const hopeless = /CERT|WRONG_VERSION|_SIGNATURE|peer cert|bad port|are blocked/;
const unknownName = /ENOTFOUND|not known/;
const refusedConnection = /ECONNREFUSED|Connection refused/;

const now = (): number => performance.now();
/** Does without `randomUUID`, which pages have over HTTPS only. */
const createKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");

/**
 * Any number of calls may use it at once. A request is sent again after a broken connection, 408, 429 and 5xx, an add,
 * a change or a removal with the same `Idempotency-Key`. After 429 no call sends anything before `Retry-After`.
 */
export class AnimalStoreClient {
  readonly pets = new Pets((request) => this.#send(request), createKey);
  readonly #options: Readonly<{ url: string; key: string; timeoutMs: number; triesMax: number }>;
  /** Each function wakes a call that waits for its turn. In the order in which the calls came. */
  readonly #waiting = new Set<() => void>();
  #underWayCount = 0;
  /** The time in which no call sends, by `performance.now()`; undefined once a request was served after it. */
  #pause: { readonly beganMs: number; readonly untilMs: number; readonly error: AnimalStoreError } | undefined;
  #hasResponse = false;

  /**
   * @throws {TypeError} `url` is no address of http or https, or `key` has not the form of a key
   * @throws {RangeError} another option is wrong, or unknown
   */
  constructor(options: ClientOptions) {
    const { url, key, timeoutMs, triesMax } = optionsOf(options, ["url", "key", "timeoutMs", "triesMax"]);
    let address = "";
    try {
      address = new Request(url).url; // In a page it may be relative. "localhost:3000/v1" has the scheme "localhost".
    } catch {
      // The error's message may contain the password.
    }
    if (!/^https?:\/\/[^/@]+\/[^?#]*$/.test(address)) {
      const shown = withoutKeys(String(url).replace(/.*@/s, "…@"));
      throw new TypeError(`url must begin with http:// or https://, without user, query or #, received "${shown}"`);
    }
    if (!/^as_\w+$/.test(key)) {
      const advice = /\s$|^\s/.test(key) ? " and has no white space around it" : "";
      throw new TypeError(`key must be an API key, which begins with as_${advice}`);
    }
    this.#options = { url: address, key, timeoutMs: Number(timeoutMs ?? 120_000), triesMax: Number(triesMax ?? 10) };
    check(this.#options.timeoutMs > 0, "timeoutMs must be positive", timeoutMs);
    check(this.#options.triesMax > 0, "triesMax must be positive", triesMax);
  }

  /** What is left of the limits after this request, which counts too. */
  async limits(options?: CallOptions): Promise<Limits> {
    const response = await this.#send({ target: "/limits", signal: optionsOf(options).signal });
    return read(response, (limits: Limits) => limits);
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { timeoutMs, triesMax } = this.#options;
    const endMs = now() + timeoutMs;
    // A signal for this call alone: Node warns of many listeners of one signal.
    const signal = request.signal == null ? undefined : AbortSignal.any([request.signal]);
    let mayBeOwn = false;
    for (let tries = 1, last: AnimalStoreError | undefined; ; tries++) {
      await this.#turn(endMs, signal, last);
      const sentMs = now();
      const { outcome, againMs } = await this.#exchange(request, endMs, signal)
        .then((outcome) => ({ outcome, againMs: this.#judge(outcome, sentMs, tries) }))
        .finally(() => {
          this.#underWayCount--;
          this.#wakeFirst();
        });
      if (!(outcome instanceof AnimalStoreError)) {
        return { ...outcome, mayBeOwn };
      }
      if (againMs === undefined || tries >= triesMax || againMs > endMs) {
        throw outcome;
      }
      const isRefusal = outcome.status === 429;
      await (!isRefusal && sleep(againMs, signal));
      mayBeOwn ||= !isRefusal && !refusedConnection.test(outcome.message);
      last = outcome;
    }
  }

  /** Waits until the call may send, and counts it as under way. @param last the outcome of the try before */
  async #turn(endMs: number, signal: AbortSignal | undefined, last?: AnimalStoreError): Promise<void> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        const pause = (this.#pause?.untilMs ?? 0) > now() ? this.#pause : undefined;
        if (pause !== undefined && pause.untilMs > endMs) {
          // Rounded before: a sum of two times is not exact, and may be a hair too late.
          const retryAfter = pause.error.retryAfter && Math.ceil(Math.round(pause.untilMs - now()) / 1_000);
          throw new AnimalStoreError(pause.error.message, { ...pause.error, retryAfter });
        }
        if (endMs <= now()) {
          const message = `Not sent: ${underWayMax} other calls of this client had no response within timeoutMs`;
          throw last ?? new AnimalStoreError(message, { code: "no_response" });
        }
        if (pause === undefined && this.#underWayCount < underWayMax) {
          this.#underWayCount++;
          return;
        }
        await sleep(pause?.untilMs ?? endMs, signal, this.#waiting);
      }
    } catch (error) {
      this.#wakeFirst(); // It may have been this call's turn.
      throw error;
    }
  }

  #wakeFirst(): void {
    const [first] = this.#waiting;
    first?.();
  }

  /** Returns when to send again, or undefined if that is of no use. A 429 begins the pause, or goes on with it. */
  #judge(outcome: ApiResponse | AnimalStoreError, sentMs: number, tries: number): number | undefined {
    const { status = 500, code, retryAfter } = outcome as AnimalStoreError; // A response has a status.
    const { beganMs, untilMs: endedMs } = this.#pause ?? { beganMs: now(), untilMs: Infinity };
    if (status < 500 && status !== 408 && status !== 429) {
      if (sentMs >= endedMs && code !== "unexpected_response") {
        this.#pause = undefined; // Only a request within the limit comes that far.
      }
      return undefined;
    }
    // The random part keeps many clients from coming back at once.
    const backoffMs = Math.min(100 * 2 ** tries, 10_000) * (0.5 + Math.random() / 2);
    if (status !== 429) {
      return now() + Math.min(1_000 * (retryAfter ?? 0), waitMsMax) + backoffMs;
    }
    // A page may not see `Retry-After`. With these waits a day that is used up has ended before ten refusals are a ban.
    const askedMs = retryAfter === undefined ? Math.max(60_000, 3 * (now() - beganMs)) : 1_000 * retryAfter;
    const untilMs = now() + Math.min(Math.max(askedMs, backoffMs), waitMsMax);
    this.#pause = { beganMs, untilMs, error: outcome as AnimalStoreError };
    this.#waiting.forEach((wake) => wake()); // They may no longer have the time.
    return untilMs;
  }

  /** Sends once. @throws {AnimalStoreError} no further try would succeed */
  async #exchange(request: ApiRequest, endMs: number, signal?: AbortSignal): Promise<ApiResponse | AnimalStoreError> {
    const { method = "GET", target, fields, content = null } = request;
    const { url, key } = this.#options;
    const limit = AbortSignal.timeout(Math.min(responseMs, Math.max(0, Math.ceil(endMs - now()))));
    const init: RequestInit = {
      method,
      headers: { ...fields, ...(content && { "Content-Type": "application/json" }), Authorization: `Bearer ${key}` },
      body: content,
      redirect: "manual", // The key is for this address only.
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      ...("cache" in Request.prototype && ({ cache: "no-store" } as const)), // Some frameworks cache, some lack it.
    };
    // Not a Request: replacements of `fetch` take a text. What throws here is no failure of the network.
    const sending = fetch(url.replace(/\/$/, "") + target, init);
    let answer: ApiResponse;
    try {
      const response = await sending;
      const { status, headers } = response;
      answer = { status, text: await response.text(), field: (name) => headers.get(name) };
    } catch (cause) {
      signal?.throwIfAborted();
      const { code, reason, message } = rootOf(cause);
      const said = `No response of ${url}: ${reason || message || code}`;
      const error = new AnimalStoreError(said, { code: "no_response", cause });
      if (hopeless.test(`${code} ${message}`) || (!this.#hasResponse && unknownName.test(`${code} ${message}`))) {
        throw error;
      }
      return error;
    }
    this.#hasResponse = true;
    return answer.status >= 200 && answer.status < 300 ? answer : errorOf(answer);
  }
}

/** The innermost cause. Its `reason`, if any, is OpenSSL's; its message has a file and line besides. */
function rootOf(error: unknown): Readonly<Record<string, unknown>> {
  const { cause } = Object(error) as { readonly cause?: unknown };
  return cause ? rootOf(cause) : Object(error);
}

/** Waits until the time comes, the signal is aborted, or the function that is in `waiting` meanwhile is called. */
function sleep(untilMs: number, signal: AbortSignal | undefined, waiting?: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      waiting?.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.min(untilMs - now(), waitMsMax)); // A timer's own bound is 24 days.
    signal?.addEventListener("abort", finish);
    waiting?.add(finish);
  });
}
