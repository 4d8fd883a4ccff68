/**
 * The service in a program: puts store, keys, limits and the request path together, and takes them apart again.
 *
 * Several in one process do not touch each other: nothing outside these objects decides what they do.
 */

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { type Clock, systemClock } from "./disk/clock.ts";
import type { Claim, Disk } from "./disk/disk.ts";
import { claimFolder } from "./disk/folder-lock.ts";
import { nodeDisk } from "./disk/node-disk.ts";
import { bounds } from "./http/bounds.ts";
import { Cors } from "./http/cors.ts";
import type { ErrorCode } from "./http/errors.ts";
import { favicon } from "./http/favicon.ts";
import { healthPage } from "./http/health.ts";
import { jsonResponse } from "./http/response.ts";
import { mayBeFollowed } from "./http/upgrade.ts";
import { KeyStore } from "./keys/key-store.ts";
import { Addresses } from "./limits/addresses.ts";
import { Limiter } from "./limits/limiter.ts";
import { createPlan } from "./limits/plans.ts";
import { LimitsSnapshot } from "./limits/snapshot.ts";
import type { GroupTimes } from "./log/group-writer.ts";
import type { Gauges } from "./observe/metrics.ts";
import type { Observers } from "./observe/observers.ts";
import { describeApi, type OpenApiDescription } from "./openapi/document.ts";
import { type AnimalStoreOptions, type CheckedOptions, checkOptions } from "./options.ts";
import type { PetStore } from "./pets/pet-store.ts";
import type { Arrival, RequestContext } from "./request/context.ts";
import { locate } from "./request/mount.ts";
import { RequestPath } from "./request/pipeline.ts";
import { type JsonLinesPetStore, openPetStore } from "./store/json-lines-pet-store.ts";

/** What a program around the service does with keys. Durable when it resolves. */
export type KeyAdministration = Pick<KeyStore, "create" | "list" | "revoke" | "plan" | "rotate" | "unban">;

export interface AnimalStore {
  /**
   * Answers a request: fits `http.createServer`, and Express and Connect as middleware. The base path is looked for in
   * `originalUrl`, then in `url`; outside it `next` is called where there is one. A request that is answered already is
   * left alone. Once closed, animals are still read, from memory, but none is added: 503.
   */
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse, next?: (error?: unknown) => void) => void;
  readonly keys: KeyAdministration;
  /** The OpenAPI description as served at `/openapi.json`. */
  readonly description: OpenApiDescription;
  /** What `/healthz` says. */
  readonly healthy: boolean;
  /** Resolves when everything accepted is on disk and the folder is free. Closing twice is fine. */
  close(): Promise<void>;
}

/**
 * Opens the service: takes the folder, reads what is kept, and follows the key file from then on.
 *
 * @throws {RangeError} an option that cannot be
 * @throws {FolderInUseError} another service holds the folder
 * @throws {DamagedLogError} a file is damaged where no crash could have damaged it; nothing was changed
 */
export async function openAnimalStore(options: AnimalStoreOptions): Promise<AnimalStore> {
  return openService(checkOptions(options));
}

/** What a program may bring along besides the options: tests a clock and a disk, the server its observers. */
export interface Dependencies {
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly observers?: Observers;
}

/** As `openAnimalStore`, for who needs more of the service than an embedder does. */
export async function openService(options: CheckedOptions, surroundings: Dependencies = {}): Promise<Service> {
  const { clock = systemClock, disk = nodeDisk, observers } = surroundings;
  const { dataDir, report } = options;
  const common = { disk, clock, dataDir, report };
  const claim = await claimFolder(disk, dataDir);
  try {
    const limiter = new Limiter({ clock });
    const snapshot = await LimitsSnapshot.open({ ...common, limiter });
    const onUnban = (keyId: string): void => limiter.unban(keyId);
    const unbansFrom = snapshot.keyLogBytes;
    const keys = await KeyStore.open({ ...common, createPlan, randomBytes, onUnban, unbansFrom });
    const onGroup = (times: GroupTimes): void => observers?.metrics?.countGroup(times);
    const catalogue = options.store === undefined ? await openPetStore({ ...common, onGroup }) : undefined;
    const store = options.store ?? catalogue;
    if (store === undefined) {
      throw new Error("Cannot open animal store: it has no catalogue");
    }
    return new Service(options, { claim, store, catalogue, limiter, snapshot, keys, clock, observers });
  } catch (error) {
    await claim.release();
    throw error;
  }
}

interface Parts {
  readonly claim: Claim;
  readonly store: PetStore;
  /** The store, where it is our own. */
  readonly catalogue: JsonLinesPetStore | undefined;
  readonly limiter: Limiter;
  readonly snapshot: LimitsSnapshot;
  readonly keys: KeyStore;
  readonly clock: Clock;
  readonly observers: Observers | undefined;
}

export class Service implements AnimalStore {
  readonly description: OpenApiDescription;
  readonly #parts: Parts;
  readonly #options: CheckedOptions;
  /** How requests come to a listener of our own; the second kind expects `100 Continue`. */
  readonly #arrival: Arrival;
  readonly #expectingArrival: Arrival;
  readonly #path: RequestPath;
  readonly #timers: readonly NodeJS.Timeout[];
  #isStopping = false;
  #closing: Promise<void> | undefined;

  constructor(options: CheckedOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    const linkBase = options.baseUrl ?? options.basePath;
    this.#arrival = { target: undefined, linkBase, expectsContinue: false, passOn: undefined };
    this.#expectingArrival = { ...this.#arrival, expectsContinue: true };
    this.description = describeApi(options);
    const descriptionPage = jsonResponse(200, Buffer.from(JSON.stringify(this.description)));
    this.#path = new RequestPath({
      ...parts,
      basePath: options.basePath,
      trustedProxyCount: options.trustedProxyCount,
      report: options.report,
      keyring: parts.keys.keyring,
      addresses: new Addresses({ clock: parts.clock }),
      cors: new Cors(options.corsOrigins),
      publicPages: [
        { path: "/healthz", show: () => healthPage(this.healthy) },
        { path: "/openapi.json", show: () => descriptionPage },
        favicon,
      ],
    });
    this.#timers = [
      setInterval(() => void this.#followKeys(), bounds.keyPollMs).unref(),
      setInterval(() => void this.#saveLimits(), bounds.limitsSaveMs).unref(),
    ];
  }

  /** Where the API is mounted. */
  get basePath(): string {
    return this.#options.basePath;
  }

  get keys(): KeyStore {
    return this.#parts.keys;
  }

  get healthy(): boolean {
    return !this.#isStopping && this.#parts.store.isWritable();
  }

  get gauges(): Gauges {
    const { catalogue, limiter } = this.#parts;
    return {
      animalCount: catalogue?.animalCount ?? 0,
      logBytes: catalogue?.logBytes ?? 0,
      banCount: limiter.banCount,
      bannedKeyCount: limiter.bannedKeyCount,
      isHealthy: this.healthy,
    };
  }

  readonly handle: AnimalStore["handle"] = (incoming, outgoing, next) => {
    const { basePath, baseUrl } = this.#options;
    const place = locate(incoming, basePath);
    if (place === undefined && next !== undefined) {
      next();
      return;
    }
    if (outgoing.headersSent) {
      return; // Somebody before us has refused it, or answered in our place: nothing of it may take effect.
    }
    if (this.#isStopping || (incoming.headers.upgrade !== undefined && mayBeFollowed(incoming, 0))) {
      outgoing.shouldKeepAlive = false;
    }
    const linkBase = baseUrl ?? (place?.prefix ?? "") + basePath;
    const arrival = { target: place?.target, linkBase, expectsContinue: false, passOn: next };
    this.#path.respond(this.#path.begin(incoming, outgoing, arrival));
  };

  /** As `handle`, for a listener of our own, whose targets nobody has rewritten. */
  onRequest(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): RequestContext {
    const exchange = this.#path.begin(incoming, outgoing, expectsContinue ? this.#expectingArrival : this.#arrival);
    this.#path.respond(exchange);
    return exchange;
  }

  /** The whole answer to CONNECT, as bytes. */
  onConnect(incoming: IncomingMessage): Promise<string> {
    return this.#path.answerRaw(this.#path.begin(incoming, undefined, this.#arrival));
  }

  /** The whole answer to something that is no request, as bytes. */
  onDamage(code: ErrorCode, socketAddress: string | undefined): string {
    return this.#path.damageAnswer(code, socketAddress);
  }

  /** From here on `healthy` is false and `handle` keeps no connection; requests are still answered. */
  beginStopping(): void {
    this.#isStopping = true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isStopping = true;
    this.#timers.forEach((timer) => clearInterval(timer));
    try {
      await this.#parts.keys.close();
      await this.#saveLimits();
      await this.#parts.store.close();
    } finally {
      await this.#parts.claim.release(); // Or a store that fails to close would keep the folder from the next service.
    }
  }

  async #followKeys(): Promise<void> {
    await this.#parts.keys.follow();
  }

  async #saveLimits(): Promise<void> {
    const { snapshot, keys } = this.#parts;
    snapshot.keyLogBytes = keys.logBytes;
    await snapshot.save();
  }
}
