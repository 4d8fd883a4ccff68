/**
 * What opening the catalogue of a folder would find, and how that is said.
 */

import { join } from "node:path";

import type { Disk } from "../disk/disk.ts";
import { groupBytesMax } from "../log/group-writer.ts";
import { type LogEnd, readLog } from "../log/reader.ts";
import { petStatuses } from "../pets/pet.ts";
import { Catalogue } from "./catalogue.ts";
import { PetLog } from "./load.ts";

export const petFileName = "pets.jsonl";

export interface CheckResult {
  readonly wouldServe: boolean;
  readonly finding: string;
}

/** What opening would find, without changing anything, also beside a running server. */
export async function checkPetLog(disk: Disk, dataDir: string, isServed: boolean): Promise<CheckResult> {
  const path = join(dataDir, petFileName);
  const file = await disk.openToRead(path);
  if (file === undefined) {
    return { wouldServe: true, finding: `${path} is not there: a start would make it` };
  }
  try {
    const catalogue = new Catalogue(petStatuses.length);
    // A line seen half-written must not be taken for damage before those that a running server appends meanwhile.
    const end = await readLog(file, new PetLog(catalogue), { tornBytesMax: groupBytesMax, to: file.size() });
    const sound = `${path} is sound: ${catalogue.count} animals`;
    if (end.kind === "whole") {
      return { wouldServe: true, finding: sound };
    }
    if (end.kind === "corrupt") {
      return { wouldServe: false, finding: damageText(path, end) };
    }
    const torn = isServed ? "a write is under way behind them" : `${tornText(path, end)}; a start would set them aside`;
    return { wouldServe: true, finding: `${sound}; ${torn}` };
  } finally {
    await file.close();
  }
}

type Corrupt = Extract<LogEnd, { readonly kind: "corrupt" }>;
export type Torn = Extract<LogEnd, { readonly kind: "torn" }>;

export function damageText(path: string, { lineNumber, offset, reason }: Corrupt): string {
  return `${path} is damaged at line ${lineNumber}, byte ${offset}: ${reason}`;
}

export function tornText(path: string, { tornBytes, reason }: Torn): string {
  return `the last ${tornBytes} bytes of ${path} are an unfinished write (${reason})`;
}
