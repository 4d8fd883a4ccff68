/**
 * The animal (specification, "Resources and their fields"), each member with its bound.
 */

import { decimal } from "../decimal.ts";

export type PetStatus = "available" | "pending" | "sold";

/** In the order of the specification. */
export const petStatuses: readonly PetStatus[] = ["available", "pending", "sold"];

/** What `status` is when a NewPet leaves it out (contract, section 3). */
export const defaultPetStatus: PetStatus = "available";

/** A NewPet that has been validated. */
export interface NewPet {
  /** 1 to `nameCodePointsMax` code points, well-formed, without U+0000, not only white space. */
  readonly name: string;
  /** An int64, exact to the last digit, which a `number` could not be. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export interface Pet extends NewPet {
  /** 1, 2, 3, … in the order of creation; never reused. */
  readonly id: number;
}

export const nameCodePointsMax = 255;
export const int64Min: bigint = -(2n ** 63n);
export const int64Max: bigint = 2n ** 63n - 1n;

/** Members in the specification's order: the very text that a client receives. */
export function petToJson(pet: Pet): string {
  const { id, name, categoryId, status } = pet;
  return `{"id":${decimal(id)},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
