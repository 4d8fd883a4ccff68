/**
 * What a service keeps, and where it is kept: in a data folder (folder-engine.ts) or in a database
 * (postgres/postgres-engine.ts).
 */

import type { KeyStore } from "../keys/key-store.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Gauges } from "../observe/metrics.ts";
import type { PetStore } from "../pets/pet-store.ts";

export interface Engine {
  readonly store: PetStore;
  readonly limiter: Limiter;
  readonly keys: KeyStore;
  /** What is known without reading a file or asking a database. */
  gauges(): EngineGauges;
  /** Resolves when everything accepted is durable, and every resource is released. */
  close(): Promise<void>;
}

export type EngineGauges = Omit<Gauges, "isHealthy">;
