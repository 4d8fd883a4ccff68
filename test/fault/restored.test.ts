/**
 * An operator restores a catalogue beside a running store whose start could not write, because the disk was full: its
 * torn tail or last group waits for the first add. The restored file stays as it is, and no add is acknowledged.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rex = { name: "Rex", categoryId: 1n, status: "sold" } as const;
const tornBytes = 5;

/** The lines of a catalogue of three animals of that name. */
async function linesOf(dataDir: string, name: string): Promise<string[]> {
  const store = await openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
  for (let count = 0; count < 3; count++) {
    await store.add({ ...rex, name });
  }
  await store.close();
  const path = join(dataDir, "pets.jsonl");
  const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
  rmSync(path);
  return lines;
}

/** What waits, and how many bytes a crash cut off the end. */
const waiting = { "a torn tail": tornBytes, "the last group": 0 };

const ways: Readonly<Record<string, (path: string, content: string) => void>> = {
  cp: writeFileSync,
  mv(path, content) {
    writeFileSync(`${path}.backup`, content);
    renameSync(`${path}.backup`, path);
  },
};

/** `own` is the catalogue before it was damaged, `other` has other animals in lines as long. */
const backups: Readonly<Record<string, (own: readonly string[], other: readonly string[]) => string>> = {
  "an earlier copy": ([first = ""]) => first,
  "an empty file": () => "",
  "an undamaged copy": (own) => own.join(""),
  "a longer catalogue": (own, other) => [...own, ...other].join(""),
  "another catalogue as long as the intact part": (_, other) => other.slice(0, 2).join(""),
  "another catalogue of the same length": (_, other) => other.join(""),
  "another torn one of the same length": (_, other) => other.join("").slice(0, -tornBytes),
};

for (const [what, cutBytes] of Object.entries(waiting)) {
  for (const [way, restore] of Object.entries(ways)) {
    for (const [which, contentOf] of Object.entries(backups)) {
      if (cutBytes === 0 && way === "cp" && which === "an undamaged copy") {
        continue; // The same bytes in the same file: nothing has changed.
      }
      test(`while ${what} waits for room, ${which} that ${way} restores stays as it is, and no add succeeds`, async (context) => {
        const dataDir = temporaryFolder(context);
        const path = join(dataDir, "pets.jsonl");
        const own = await linesOf(dataDir, "A");
        const other = await linesOf(dataDir, "B");
        const log = own.join("");
        writeFileSync(path, log.slice(0, log.length - cutBytes));
        let isFull = true;
        const full = (): Promise<never> => Promise.reject(new Error("ENOSPC"));
        const disk: Disk = {
          ...nodeDisk,
          openToAppend: async (name) => {
            const file = await (isFull && name.endsWith(".torn") ? full() : nodeDisk.openToAppend(name));
            const overwrite: typeof file.overwrite = file.overwrite.bind(file);
            return Object.assign(file, { overwrite: (bytes: Uint8Array, position: number) => (isFull ? full() : overwrite(bytes, position)) });
          },
        };
        const reports: string[] = [];
        const store = await openPetStore({ disk, dataDir, report: (message) => reports.push(message) });
        context.after(() => store.close());
        assert.match(reports.join("\n"), /^[^\n]*pets\.jsonl cannot be written: [^\n]*$/);
        const content = contentOf(own, other);
        restore(path, content);
        isFull = false;
        for (let attempt = 0; attempt < 2; attempt++) {
          await assert.rejects(store.add(rex), { name: "StorageUnavailableError" });
        }
        assert.equal(readFileSync(path, "utf8"), content);
        assert.equal(existsSync(`${path}.torn`), false);
        assert.equal(store.isWritable(), false);
        assert.match(reports.slice(1).join("\n"), /^[^\n]*pets\.jsonl [^\n]*: another process modified or replaced it; [^\n]*$/);
      });
    }
  }
}
