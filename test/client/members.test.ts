/**
 * The client has types of its own, in which an integer is a number where that is exact. The compiler compares their
 * members here with those of the service.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type * as client from "../../src/client/types.ts";
import type { NewPet, Pet, PetChange } from "../../src/pets/pet.ts";

/** What each member may be. */
type Members<Animal> = { readonly [Name in keyof Animal]-?: OfClient<NonNullable<Animal[Name]>> };
type OfClient<Value> = Value extends bigint ? number | bigint : Value;
type Same<A, B> = [A, B] extends [B, A] ? true : never;

const pet: Same<Members<client.Pet>, Members<Pet>> = true;
const newPet: Same<Members<client.NewPet>, Members<NewPet>> = true;
const change: Same<Members<client.PetChange>, Members<PetChange>> = true;

test("the client's animals have the members of the service's", () => assert.ok(pet && newPet && change));
