/** The members of an animal, as columns of the database and as its functions take and return them. */

import { members } from "../pets/members.ts";
import type { Pet, PetStatus } from "../pets/pet.ts";

interface Column {
  readonly member: string;
  readonly name: string;
  readonly type: "text" | "bigint";
}

const columns: readonly Column[] = members.map(({ name, kind }) => ({
  member: name,
  name: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  type: kind === "text" ? "text" : "bigint",
}));

/** For an INSERT of animals, without the id and the status. */
export const columnNames: string = columns.map(({ name }) => name).join(", ");

/** The record of a NewPet for `json_to_recordset`: the columns of `columnNames`, and the status. */
export const recordOfJson: string = [
  ...columns.map(({ member, type }) => `"${member}" ${type}`),
  "status text",
].join(", ");

/**
 * An animal as the functions return it: its id, and a value for each of `rowColumns`. An integer is a text, because a
 * number in JSON would lose its last digits.
 */
export type PetRow = readonly [id: number, name: string, categoryId: string, status: PetStatus, ...(string | null)[]];

/** Running instances of release 2.1 read the first three by their places, so that later members follow the status. */
const rowColumns: readonly Column[] = [
  ...columns.slice(0, 2),
  { member: "status", name: "status", type: "text" },
  ...columns.slice(2),
];

/** The SQL that makes a `PetRow`. @param table its name in the statement @param status SQL for the status */
export function petArray(table: string, status: string): string {
  const values = rowColumns.map(({ name, type }) => {
    return name === "status" ? status : `${table}.${name}${type === "text" ? "" : "::text"}`;
  });
  return `json_build_array(${table}.id, ${values.join(", ")})`;
}

export function petOf([id, ...values]: PetRow): Pet {
  const pet: Record<string, unknown> = { id };
  rowColumns.forEach(({ member, type }, index) => {
    const value = values[index];
    if (value !== null && value !== undefined) {
      pet[member] = type === "text" ? value : BigInt(value);
    }
  });
  return pet as unknown as Pet; // The database's functions return all of its members.
}
