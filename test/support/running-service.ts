/**
 * A service that listens on a free port of this process, with a temporary folder, closed and removed after the test.
 */

import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import type { Clock } from "../../src/base/clock.ts";
import type { PublicPage } from "../../src/http/public-page.ts";
import type { Observers } from "../../src/observe/observers.ts";
import { type AnimalStoreOptions, checkOptions } from "../../src/options.ts";
import type { PetStore } from "../../src/pets/pet-store.ts";
import { openService, type Service } from "../../src/service.ts";
import { contextOf } from "../../src/tls/pair.ts";
import { Listener } from "../../src/wire/listener.ts";
import { type ListenerLimits, listenerLimits } from "../../src/wire/listener-limits.ts";
import { one } from "./certificates.ts";

export interface RunningService {
  readonly service: Service;
  readonly listener: Listener;
  readonly port: number;
  /** A key whose quota no test uses up. */
  readonly key: string;
  /** What was reported to the operator. */
  readonly reports: readonly string[];
  close(): Promise<void>;
}

export interface Start {
  /** A store takes the place of the catalogue of the folder. */
  readonly options?: Partial<AnimalStoreOptions> & { readonly store?: PetStore };
  /** Replaces the service's own limits, by time-outs short enough to wait for. */
  readonly limits?: Partial<ListenerLimits>;
  readonly clock?: Clock;
  readonly observers?: Observers;
  readonly publicPages?: readonly PublicPage[];
  /** If given, the service speaks HTTPS. */
  readonly certificate?: typeof one;
  readonly hasFastLane?: boolean;
}

/** Where a service stores its data. */
interface Place {
  readonly options: Pick<AnimalStoreOptions, "dataDir" | "database">;
  remove(): Promise<void>;
}

async function temporaryFolder(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-http-"));
  return { options: { dataDir }, remove: () => rm(dataDir, { recursive: true }) };
}

/** Names a module that makes places in databases, with which the suite of PostgreSQL runs these tests once more. */
const placeModule = process.env["ANIMAL_STORE_TEST_PLACES"];
const { createPlace } = (placeModule === undefined ? { createPlace: temporaryFolder } : await import(placeModule)) as {
  createPlace: (clock?: Clock) => Promise<Place>;
};

/** The tests of raw connections also run over TLS. */
const defaultCertificate = process.env["ANIMAL_STORE_TEST_TLS"] === undefined ? undefined : one;

/** Those tests also run without the fast lane. */
const hasFastLaneByDefault = process.env["ANIMAL_STORE_TEST_FAST_LANE"] !== "off";

/** Starts a service, which the caller closes. */
export async function startService(start: Start = {}): Promise<RunningService> {
  const { options: { store, ...options } = {}, limits, clock, observers, publicPages = [], certificate = defaultCertificate } = start;
  const { hasFastLane = hasFastLaneByDefault } = start;
  const place = store === undefined ? await createPlace(clock) : await temporaryFolder();
  const reports: string[] = [];
  const checked = checkOptions({ ...place.options, report: (message) => reports.push(message), ...options });
  const service = await openService(checked, {
    publicPages,
    store,
    ...(clock === undefined ? {} : { clock }),
    ...(observers === undefined ? {} : { observers }),
  });
  const listener = new Listener(service.pipeline, {
    limits: { ...listenerLimits, ...limits },
    certificate: certificate && contextOf(certificate),
    hasFastLane,
  });
  await new Promise<void>((resolve) => listener.server.listen(0, "127.0.0.1", 1_024, resolve));
  const { key } = await service.keys.create({ plan: "enterprise", perMinute: 10_000_000, perDay: 10_000_000 });
  return {
    service,
    listener,
    // The listener is on a port, so its address is no path.
    port: (listener.server.address() as AddressInfo).port,
    key,
    reports,
    async close() {
      await listener.stop(0);
      await service.close();
      await place.remove();
    },
  };
}

/** Starts a service that is closed after the test. */
export async function runningService(context: TestContext, start?: Start): Promise<RunningService> {
  const running = await startService(start);
  context.after(() => running.close());
  return running;
}

/** Makes a key with these quotas. */
export async function keyWithQuota({ service }: RunningService, perMinute: number, perDay = 100_000): Promise<string> {
  return (await service.keys.create({ plan: "enterprise", perMinute, perDay })).key;
}

/** Counts the animals in the lists of the service. */
export async function animalCount({ port, key }: RunningService): Promise<number> {
  let count = 0;
  for (let after: number | undefined = 0; after !== undefined; ) {
    const headers = { Authorization: `Bearer ${key}` };
    const response: Response = await fetch(`http://127.0.0.1:${port}/v1/pets?limit=100&after=${after}`, { headers });
    const pets = (await response.json()) as { readonly id: number }[];
    count += pets.length;
    after = pets.at(-1)?.id;
  }
  return count;
}
