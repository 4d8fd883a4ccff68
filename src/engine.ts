/** What a service stores: in a data folder with folder/engine.ts, in a database with postgres/postgres-engine.ts. */

import type { KeyCommands } from "./keys/key-commands.ts";
import type { Limiter } from "./limits/limiter.ts";
import type { Gauges } from "./observe/metrics.ts";
import type { PetStore } from "./pets/pet-store.ts";

export interface Engine {
  readonly store: PetStore;
  readonly limiter: Limiter;
  readonly keys: KeyCommands;
  /** Undefined if counting takes long, as it may in a database. */
  countAnimals(): Promise<number | undefined>;
  /** What is known without reading a file or asking a database. */
  gauges(): Omit<Gauges, "isHealthy">;
  /** Resolves when everything accepted is durable, and every resource is released. */
  close(): Promise<void>;
}
