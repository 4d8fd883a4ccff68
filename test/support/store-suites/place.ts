import type { PetStore } from "../../../src/pets/pet-store.ts";

/** Where animals are stored, such as a folder or an engine: it is there before a store is opened on it, and after. */
export interface StorePlace {
  open(): Promise<PetStore>;
  remove(): Promise<void>;
}

/** Makes a new and empty place. */
export type CreatePlace = () => Promise<StorePlace>;
