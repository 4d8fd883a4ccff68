/** The library's public exports, and nothing else. Importing it starts nothing. */

export { AnimalStoreError, type Pets, petToJson } from "./client/client.ts";
export type {
  CallOptions, ChangeOptions, ErrorCode, ListOptions, NewPet, Pet, PetChange, PetPage, PetState, PetStatus,
  VersionedPet, WriteOptions, WrittenPet,
} from "./client/types.ts";
export { openAnimalStore, type AnimalStore, type KeyAdministration } from "./service.ts";
export type { AnimalStoreOptions } from "./options.ts";
export { FolderInUseError } from "./disk/lock.ts";
export { ContentTakenError } from "./http/content-taken-error.ts";
export { DatabaseError } from "./postgres/database-error.ts";
export type { DatabasePool, PoolClient, Row } from "./postgres/pool.ts";
export type { OpenApiDescription } from "./openapi/document.ts";
export type { PlanName } from "./limits/plans.ts";
export { KeyError, type KeyFault } from "./keys/key.ts";
export type { CallerKey, KeySummary } from "./keys/key-summary.ts";
export type { KeyChoice, NewSecret, PlanChoice } from "./keys/keys.ts";
export { DamagedLogError } from "./store/json-lines-pet-store.ts";
