/**
 * The service: connects the stored data with the handling of requests, and closes both. There is no global state, so
 * several services in one process do not affect each other.
 */

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { type Clock, systemClock } from "./base/clock.ts";
import { Pets } from "./client/client.ts";
import type { Disk } from "./disk/disk.ts";
import { nodeDisk } from "./disk/node-disk.ts";
import type { Engine } from "./engine.ts";
import { openFolder } from "./folder/engine.ts";
import { Cors } from "./http/cors.ts";
import { errorJson } from "./http/errors.ts";
import { favicon, healthPage, type PublicPage } from "./http/public-page.ts";
import { jsonResponse, type Response } from "./http/response.ts";
import type { CallerKey } from "./keys/key-summary.ts";
import { Keys } from "./keys/keys.ts";
import { AddressLimiter } from "./limits/address-limiter.ts";
import type { AppendTimes } from "./log/appender.ts";
import type { Gauges } from "./observe/metrics.ts";
import type { Observers } from "./observe/observers.ts";
import { describeApi, type OpenApiDescription } from "./openapi/document.ts";
import { type AnimalStoreOptions, type CheckedOptions, checkOptions } from "./options.ts";
import type { PetStore } from "./pets/pet-store.ts";
import { shareOutcomes } from "./pets/shared-outcomes.ts";
import type { Program } from "./request/context.ts";
import { locate } from "./request/mount.ts";
import { Pipeline } from "./request/pipeline.ts";
import { programCalls } from "./request/program-calls.ts";
import { NodeExchange } from "./wire/node-exchange.ts";
import { ProgramConnections } from "./wire/program-connections.ts";

/** What an embedder does with keys. A change is durable when its promise resolves. */
export type KeyAdministration = Pick<
  Keys,
  "create" | "list" | "revoke" | "plan" | "label" | "expire" | "rotate" | "unban" | "reset"
>;

export interface AnimalStore {
  /**
   * Responds to a request: fits `http.createServer`, and Express and Connect as middleware. Outside the base path
   * `next()` is called, if given; otherwise the service responds. If the content has been read before, `next(error)` is
   * called. A request that has a response already is left alone. After `close()` writes return 503, reads still work.
   */
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, next?: (error?: unknown) => void) => void;
  /**
   * The API's keys and limits for a route of the program's own: fits Express and Connect as middleware; in Fastify, a
   * hook passes it the raw objects. It refuses a request as the API does, also an unsafe method with a read-only key.
   * Otherwise it takes a token, sets `X-Request-Id` (in the request too) and the `X-RateLimit` fields, and calls
   * `next()`. A request takes one token, however often it comes here or to `handle`. A CORS preflight gets a 204 that
   * permits nothing, and takes none: the program's own CORS stands before. It still works after `close()`.
   */
  readonly guard: (incoming: IncomingMessage, outgoing: ServerResponse, next: () => void) => void;
  /** The key of a request that `guard` or `handle` has taken a token for; undefined for any other. */
  readonly keyOf: (incoming: IncomingMessage) => CallerKey | undefined;
  readonly keys: KeyAdministration;
  /** The catalogue for the program itself, with the client's methods, but without key, limits, waits and retries. */
  readonly pets: Pets;
  /** The OpenAPI description as served at `/openapi.json`. */
  readonly description: OpenApiDescription;
  /** Whether `/healthz` says ok. */
  readonly healthy: boolean;
  /** The metrics, to be sent as `text/plain; version=0.0.4`. @throws {Error} the option `metrics` was not given */
  metrics(): string;
  /** Resolves when everything accepted is on disk, and the folder is free. */
  close(): Promise<void>;
}

/**
 * Opens the service: locks the folder and reads its files, or connects to the database.
 * @throws {RangeError} an option is wrong
 * @throws {FolderInUseError} another service or command uses the folder
 * @throws {DamagedLogError} the catalogue is damaged where no crash could have damaged it; it is unchanged
 * @throws {KeyError} its code is "key_file_damaged": the key file is damaged
 * @throws {Error} the database cannot be used
 */
export async function openAnimalStore(options: AnimalStoreOptions): Promise<AnimalStore> {
  return openService(checkOptions(options));
}

/** @internal Tests pass a clock, a disk and a store, the server passes the rest. */
export interface Dependencies {
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly store?: PetStore | undefined;
  readonly observers?: Observers | undefined;
  /** Aborted when the server begins to stop: ends the opening, which rejects with its reason and frees the folder. */
  readonly signal?: AbortSignal;
  /** Pages besides the service's own. */
  readonly publicPages?: readonly PublicPage[];
}

/** @internal As `openAnimalStore`, with more of the service than an embedder needs. */
export async function openService(options: CheckedOptions, dependencies: Dependencies = {}): Promise<Service> {
  const { clock = systemClock, disk = nodeDisk, store, signal } = dependencies;
  const { storage, report, hasMetrics } = options;
  // Loaded only if they are used.
  const observers = hasMetrics
    ? new (await import("./observe/observers.ts")).Observers({ clock, hasMetrics, writeRequests: undefined })
    : dependencies.observers;
  const onGroup = (times: AppendTimes): void => observers?.metrics?.countGroup(times);
  const opened =
    typeof storage === "string"
      ? await openFolder({ disk, clock, dataDir: storage, report, signal, onGroup })
      : await (await import("./postgres/postgres-engine.ts")).openPostgres({ pool: storage, clock, report, signal });
  const closeBoth = async (): Promise<void> => store?.close().then(opened.close);
  const engine: Engine = store === undefined ? opened : { ...opened, store, close: closeBoth };
  try {
    return new Service(options, engine, { ...dependencies, clock, observers });
  } catch (error) {
    await engine.close(); // Otherwise the folder would stay locked.
    throw error;
  }
}

/** @internal */
export class Service implements AnimalStore {
  /** Used by our own listener. */
  readonly pipeline: Pipeline;
  readonly options: CheckedOptions;
  readonly engine: Engine;
  readonly keys: Keys;
  readonly pets: Pets;
  readonly #observers: Observers | undefined;
  readonly #connections = new ProgramConnections();
  #description: OpenApiDescription | undefined;
  #page: Response | undefined;
  #isStopping = false;
  #closing: Promise<void> | undefined;

  constructor(options: CheckedOptions, engine: Engine, dependencies: Dependencies & { readonly clock: Clock }) {
    const { clock, observers, publicPages = [] } = dependencies;
    this.options = options;
    this.engine = engine;
    this.keys = new Keys(engine.keys, { clock, randomBytes });
    const store = shareOutcomes(engine.store);
    this.pets = new Pets(programCalls(store), () => undefined);
    this.#observers = observers;
    this.pipeline = new Pipeline({
      clock,
      observers,
      store,
      limiter: engine.limiter,
      keyring: engine.keys.keyring,
      basePath: options.basePath,
      linkBase: options.baseUrl ?? options.basePath,
      trustedProxyCount: options.trustedProxyCount,
      report: options.report,
      addresses: new AddressLimiter({ clock }),
      cors: new Cors(options.corsOrigins),
      publicPages: [
        healthPage(() => this.healthy),
        { path: "/openapi.json", show: () => this.#descriptionPage() },
        favicon,
        ...publicPages,
      ],
    });
  }

  /** Made when it is first asked for, as its page is. */
  get description(): OpenApiDescription {
    return (this.#description ??= describeApi(this.options));
  }

  #descriptionPage(): Response {
    return (this.#page ??= jsonResponse(200, Buffer.from(JSON.stringify(this.description))));
  }

  get healthy(): boolean {
    return !this.#isStopping && this.engine.store.isWritable();
  }

  get gauges(): Gauges {
    return { ...this.engine.gauges(), isHealthy: this.healthy };
  }

  metrics(): string {
    if (this.#observers?.metrics === undefined) {
      throw new Error("Cannot show metrics: the animal store was opened without the option metrics: true");
    }
    return this.#observers.metrics.expose(this.gauges);
  }

  readonly handle: AnimalStore["handle"] = (incoming, outgoing, next) => {
    const { basePath, baseUrl } = this.options;
    const located = locate(incoming, basePath);
    if (located === undefined && next !== undefined) {
      next();
      return;
    }
    const isLast = this.#isStopping || incoming.headers.upgrade !== undefined;
    if (this.#takes(incoming, outgoing, isLast, next)) {
      const linkBase = baseUrl ?? (located?.prefix ?? "") + basePath;
      const program = { incoming, outgoing, next };
      const arrival = { target: located?.target, linkBase, route: undefined, program };
      this.pipeline.run(new NodeExchange(incoming, outgoing), arrival);
    }
  };

  readonly guard: AnimalStore["guard"] = (incoming, outgoing, next) => {
    // What its connection does is the route's matter. A `next` that ignores an error would serve without a key.
    if (this.#takes(incoming, outgoing, false)) {
      this.pipeline.guard(new NodeExchange(incoming, outgoing), { incoming, outgoing, next });
    }
  };

  readonly keyOf: AnimalStore["keyOf"] = (incoming) => this.pipeline.keyOf(incoming);

  /** Returns false if the request is not to go on. */
  #takes(incoming: IncomingMessage, outgoing: ServerResponse, isLast: boolean, next?: Program["next"]): boolean {
    if (Number(incoming.httpVersionMajor) >= 2) { // Adapters set a string, or nothing.
      this.#refuseHttp2(outgoing, next);
      return false;
    }
    return this.#connections.take(incoming, outgoing, isLast);
  }

  /** Node's HTTP/2 objects lack what the responses need: the raw header fields of a message, and `Connection`. */
  #refuseHttp2(outgoing: ServerResponse, next: Program["next"]): void {
    const error = new Error("Cannot handle an HTTP/2 request: serve the animal store over HTTP/1.1");
    if (next !== undefined) {
      next(error);
      return;
    }
    this.options.report(error.message);
    outgoing.writeHead(500, { "Content-Type": "application/json; charset=utf-8" });
    outgoing.end(errorJson("internal_error"));
  }

  /** From here on `handle` closes each connection after its response. */
  beginStopping(): void {
    this.#isStopping = true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.beginStopping();
    await this.engine.close();
    await eventLoopTurn(); // The program may exit after this: the responses to what was stored last are sent first.
  }
}
