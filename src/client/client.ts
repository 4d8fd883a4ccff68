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
    super(message);
    Object.assign(this, details);
  }
}

/** The animals of a service. Calls reject with an AnimalStoreError. */
export class Pets {
  readonly #send: (request: ApiRequest) => Promise<ApiResponse>;

  /** @internal @param send rejects if the status is not 2xx */
  constructor(send: (request: ApiRequest) => Promise<ApiResponse>) {
    this.#send = send;
  }

  /** Resolves when the animal is on disk. @throws {RangeError} `categoryId` is a number that is no safe integer */
  async add({ name, categoryId, status }: NewPet, options?: WriteOptions): Promise<Pet> {
    const others = JSON.stringify({ status, name: name ?? null }).slice(1);
    const content = `{"categoryId":${exactly(categoryId)},${others}`;
    return read(await this.#write({ method: "POST", target: "/pets", content }, options), exactPet);
  }

  /** If there is no animal with the id, the code is "pet_not_found". */
  async get(id: number, options?: CallOptions): Promise<Pet> {
    const [pet] = (await this.list({ ...options, after: id - 1, limit: 1 })).pets;
    if (pet?.id !== id) {
      throw new AnimalStoreError(`There is no animal with the id ${id}.`, { code: "pet_not_found", status: 404 });
    }
    return pet;
  }

  /** One page. */
  async list({ signal, ...query }: ListOptions = {}): Promise<PetPage> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const parameters = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    const response = await this.#send({ method: "GET", target: `/pets?${parameters}`, signal });
    const pets = read(response, (parsed: ParsedPet[]) => parsed.map(exactPet));
    const next = /[?&]after=(\d+)[^>]*>; rel="next"/.exec(response.field("Link") ?? "");
    return { pets, nextAfter: next === null ? undefined : Number(next[1]) };
  }

  /** All pages. An animal that exists when it begins, and keeps its status, comes exactly once. */
  async *all({ limit = 100, after = 0, ...query }: ListOptions = {}): AsyncGenerator<Pet, void, undefined> {
    for (let next: number | undefined = after; next !== undefined; ) {
      const page: PetPage = await this.list({ ...query, limit, after: next });
      yield* page.pets;
      next = page.nextAfter;
    }
  }

  /** Resolves when the change is on disk. If the status is none of `from`, the code is "precondition_failed". */
  async changeStatus(id: number, status: PetStatus, { from, ...options }: ChangeOptions): Promise<Pet> {
    const fields = { "If-Match": [from].flat().map((one) => `"${one}"`).join(", ") };
    const target = `/pets/${encodeURIComponent(id)}`;
    const content = JSON.stringify({ status });
    return read(await this.#write({ method: "PATCH", target, content, fields }, options), exactPet);
  }

  #write(request: ApiRequest, { idempotencyKey = randomKey(), signal }: WriteOptions = {}): Promise<ApiResponse> {
    return this.#send({ ...request, signal, fields: { ...request.fields, "Idempotency-Key": idempotencyKey } });
  }
}

/** Not `randomUUID`, which pages without HTTPS lack. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

type ParsedPet = Omit<Pet, "categoryId"> & { readonly categoryId: string | number };

function exactPet({ id, name, categoryId, status }: ParsedPet): Pet {
  return { id, name, categoryId: exactly(categoryId), status };
}

function exactly(integer: string | number | bigint): bigint {
  if (typeof integer === "number" && !Number.isSafeInteger(integer)) {
    throw new RangeError(`categoryId must be a bigint or a safe integer, received ${integer}`);
  }
  return BigInt(integer);
}

/**
 * `JSON.parse` rounds integers beyond 2^53, so a `categoryId` becomes a string first. Within a string a quotation mark
 * has a backslash before it: the pattern finds members only.
 */
function read<Parsed, Value>(response: ApiResponse, convert: (parsed: Parsed) => Value): Value {
  try {
    const text = response.text.replace(/("categoryId"\s*:\s*)(-?\d+)(?=\s*[,}])/g, '$1"$2"');
    return convert(JSON.parse(text) as Parsed);
  } catch {
    throw errorOf(response);
  }
}

/** The text of an error. Its message, a string of JSON, is matched to the end: a proxy may send anything. */
const errorPattern =
  /^\{"code":"(\w+)","message":("(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"),"status":\d+\}$/;

/** @internal The error that the service names, or that the response is. */
export function errorOf({ status, text, field }: ApiResponse): AnimalStoreError {
  const after = field("Retry-After") ?? ""; // Seconds, or a date (RFC 9110, 10.2.3).
  const seconds = /^\d+$/.test(after) ? Number(after) : Math.ceil((Date.parse(after) - Date.now()) / 1_000);
  const retryAfter = Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  const details = { status, requestId: field("X-Request-Id") ?? undefined, retryAfter };
  const [, code, said] = errorPattern.exec(text) ?? [];
  if (said === undefined) {
    const message = `HTTP ${status}, but no response of an animal store: ${text.slice(0, 200)}`;
    return new AnimalStoreError(message, { ...details, code: "unexpected_response" });
  }
  const petStatus = status === 412 ? (/"(\w+)"/.exec(field("ETag") ?? "")?.[1] as PetStatus) : undefined;
  return new AnimalStoreError(JSON.parse(said), { ...details, code: code as ErrorCode, petStatus });
}

/** A response that takes longer is not waited for. */
const responseMs = 30_000;
/** The longest wait that the service asks for; whatever stands in between may ask for a year. */
const pauseMsMax = 86_400_000;

/**
 * Any number of calls may use it at once. A request is sent again after a broken connection, 408, 429 and 5xx, an add
 * or a change with the same `Idempotency-Key`. As long as `Retry-After` says, no call sends anything.
 */
export class AnimalStoreClient {
  readonly pets: Pets = new Pets((request) => this.#send(request));
  readonly #options: ClientOptions;
  /** What asked to wait, and until when, in the time of `performance.now()`. */
  #pause: { readonly untilMs: number; readonly error: AnimalStoreError } | undefined;

  /** @throws {TypeError} `url` is no address of http or https, or `key` has not the form of a key */
  constructor(options: ClientOptions) {
    // "localhost:3000/v1" is an address too, of the scheme "localhost". In a page an address may be relative.
    if (!/^https?:/.test(new Request(options.url).url)) {
      throw new TypeError(`url must begin with http:// or https://, received "${options.url}"`);
    }
    if (!/^as_\w+$/.test(options.key)) {
      throw new TypeError("key must be an API key, which begins with as_");
    }
    this.#options = options;
  }

  /** What is left after this request, which counts too. */
  async limits({ signal }: CallOptions = {}): Promise<Limits> {
    return read(await this.#send({ method: "GET", target: "/limits", signal }), (limits: Limits) => limits);
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { timeoutMs = 120_000, triesMax = 10 } = this.#options;
    const endMs = performance.now() + timeoutMs;
    for (let tries = 1; ; tries++) {
      while (this.#pause !== undefined && this.#pause.untilMs > performance.now()) {
        await waitUntil(this.#pause.untilMs, endMs, this.#pause.error, request.signal);
      }
      const outcome = await this.#try(request, endMs);
      if (!(outcome instanceof AnimalStoreError)) {
        return outcome;
      }
      // The random part keeps many clients from coming back at once.
      const { status = 500, retryAfter } = outcome;
      const backoffMs = Math.min(100 * 2 ** tries, 10_000) * (0.5 + Math.random() / 2);
      const askedMs = Math.min(1_000 * (retryAfter ?? 0), pauseMsMax) + 500 * Math.random();
      const untilMs = performance.now() + (retryAfter === undefined ? backoffMs : askedMs);
      const isFinal = status < 500 && status !== 408 && status !== 429;
      if (!isFinal && retryAfter !== undefined && untilMs > (this.#pause?.untilMs ?? 0)) {
        this.#pause = { untilMs, error: outcome };
      }
      if (isFinal || tries >= triesMax) {
        throw outcome;
      }
      await waitUntil(untilMs, endMs, outcome, request.signal);
    }
  }

  async #try(request: ApiRequest, endMs: number): Promise<ApiResponse | AnimalStoreError> {
    const { method, target, fields, content, signal } = request;
    const { url, key } = this.#options;
    const leftMs = Math.max(0, Math.ceil(endMs - performance.now()));
    const limit = AbortSignal.timeout(Math.min(responseMs, leftMs));
    const init = {
      method,
      headers: { ...fields, ...(content && { "Content-Type": "application/json" }), Authorization: `Bearer ${key}` },
      redirect: "manual", // The key is for this address only.
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    } as const;
    // Outside of the block below, because an `Idempotency-Key` that is no field is never worth another try.
    const sent = new Request(url.replace(/\/$/, "") + target, content ? { ...init, body: content } : init);
    try {
      const response = await fetch(sent);
      const { status, headers } = response;
      const answer = { status, text: await response.text(), field: (name: string) => headers.get(name) };
      return response.ok ? answer : errorOf(answer);
    } catch (cause) {
      signal?.throwIfAborted();
      return new AnimalStoreError(`No response of ${url}`, { code: "no_response", cause });
    }
  }
}

/** @throws {AnimalStoreError} `error`, at once, if `untilMs` is later than `endMs` */
async function waitUntil(untilMs: number, endMs: number, error: AnimalStoreError, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted(); // There is no event any more.
  const waitMs = untilMs - performance.now();
  if (untilMs > endMs) {
    const retryAfter = error.retryAfter && Math.ceil(waitMs / 1_000); // Of a pause, a part has passed.
    throw new AnimalStoreError(error.message, { ...error, retryAfter });
  }
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, waitMs);
    signal?.addEventListener("abort", finish);
  });
  signal?.throwIfAborted();
}
