/** The members of an animal, as columns of the database and as its functions take and return them. */

import { members } from "../pets/members.ts";
import type { Pet, PetChange, PetStatus } from "../pets/pet.ts";

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

/** The columns of a table or variable, without the id and the status. */
export const columnsOf = (row: string): string => columns.map(({ name }) => `${row}.${name}`).join(", ");

/** The same for an INSERT of animals. */
export const columnNames: string = columns.map(({ name }) => name).join(", ");

/** The record of a NewPet for `json_to_recordset`: the columns of `columnNames`, and the status. */
export const recordOfJson: string = [
  ...columns.map(({ member, type }) => `"${member}" ${type}`),
  "status text",
].join(", ");

/**
 * An animal as the functions return it: its id, name, category, status and version, and the members of later releases.
 * An int64 is a text, because a number in JSON would lose its last digits. Running instances of release 3.0 read the
 * first four by their places.
 */
export type PetRow<Status = PetStatus, Version = number> = readonly [
  id: number, name: string, categoryId: string, status: Status, version: Version, ...later: (string | null)[],
];

/** What an earlier request made of an animal. Releases before 4.0 knew no versions. */
export type ResultRow = PetRow<PetStatus | "removed", number | null>;

/** How many members come before the status and the version. */
const earlyCount = 2;

/** The SQL that makes a `PetRow`. @param pet a table or variable @param status @param version SQL for them */
export function petArray(pet: string, status = `${pet}.status`, version = `${pet}.version`): string {
  const values = columns.map(({ name, type }) => `${pet}.${name}${type === "text" ? "" : "::text"}`);
  const [early, later] = [values.slice(0, earlyCount), values.slice(earlyCount)];
  return `json_build_array(${[`${pet}.id`, ...early, status, version, ...later].join(", ")})`;
}

export function petOf(row: ResultRow): Pet {
  const values = row.toSpliced(1 + earlyCount, 2).slice(1);
  const pet: Record<string, unknown> = { id: row[0], status: row[3] };
  columns.forEach(({ member, type }, index) => {
    const value = values[index];
    if (value !== null && value !== undefined) {
      pet[member] = type === "text" ? value : BigInt(value);
    }
  });
  return pet as unknown as Pet; // The database's functions return all of its members.
}

/** The JSON text of a change, for `animal_store.change`: the members that it names, by their columns. */
export function changeToJson(change: PetChange | "removal"): string {
  if (change === "removal") {
    return '{"status":"removed"}';
  }
  const { status, ...others } = change;
  const named = columns.flatMap(({ member, name }) => {
    const value = others[member as keyof typeof others]; // Every column but the status is one.
    return value === undefined ? [] : [[name, String(value)]];
  });
  return JSON.stringify({ ...Object.fromEntries(named), status });
}
