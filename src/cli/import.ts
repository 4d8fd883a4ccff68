/**
 * `import FILE`: adds the animals of a JSON-lines file, each validated as the API does (import-animals.ts). A data
 * folder is moved into a database instead (database-files.ts).
 */

import { randomUUID } from "node:crypto";
import { createReadStream, fstatSync, realpathSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { DiskFile } from "../disk/disk.ts";
import { appendAll, upTo } from "../disk/file-bytes.ts";
import { explain } from "../disk/file-errors.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { folderAdder } from "../folder/folder-adder.ts";
import { addBatch } from "../pets/add-in-batches.ts";
import { addAll, type AddOptions, countValid, type Source } from "./import-animals.ts";
import { parseFlags, quoted, UsageError } from "./parse-flags.ts";
import { readStorage, type Storage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

/** Called when a signal shall no longer end the program at once. */
type StopSignal = () => AbortSignal;

/** Resolves to the exit code. @throws {UsageError} @throws {Error} not all animals could be added */
export async function importAnimals(
  args: readonly string[],
  terminal: Terminal,
  stopSignal: StopSignal = () => new AbortController().signal,
): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [operand, ...more] = operands;
  if (operand === undefined || more.length > 0) {
    throw new UsageError("Cannot import: name one JSON-lines file, or - for standard input");
  }
  const storage = readStorage(values, terminal.environment);
  if (operand !== "-" && statSync(operand, { throwIfNoEntry: false })?.isDirectory() === true) {
    if (storage.kind === "folder") {
      throw new UsageError(`Cannot import ${operand}: it is a folder; to move it, name a database with --database`);
    }
    const { importFolder } = await import("./database-files.ts");
    terminal.stdout(`imported ${await importFolder(operand, storage, terminal)}\n`);
    return exitDone;
  }
  const { path, isStream, file } = await openInput(operand, terminal, storage);
  const flags = [...values].map(([name, value]) => ` --${name} ${quoted(value)}`).join("");
  const commandFrom = (lineNumber: number): string =>
    `tail -n +${lineNumber} ${isStream ? "FILE" : quoted(path)} | animal-store import -${flags}`;
  try {
    const bounded = { path, file: upTo(file, file.size()) }; // A program may still be writing to it.
    const animalCount = await countValid(bounded, terminal);
    const stopping = stopSignal(); // Until now a signal ends the program at once: nothing was added.
    await withAdder(storage, terminal, stopping, (add) =>
      addAll(bounded, { animalCount, add, commandFrom, terminal, stopping }));
    terminal.stdout(`imported ${pluralize(animalCount, "animal")}\n`);
    return exitDone;
  } finally {
    await file.close();
  }
}

type Input = Source & { readonly isStream: boolean; readonly file: DiskFile };

/** Opens a file, or the copy of a stream, which can be read only once. @throws {Error} there is no such file */
async function openInput(operand: string, terminal: Terminal, storage: Storage): Promise<Input> {
  // /dev/stdin cannot be opened where it is a socket.
  const isStandard = operand === "-" || operand === "/dev/stdin";
  const path = isStandard ? "standard input" : operand;
  if (isStandard && fstatSync(0).isDirectory()) {
    throw new UsageError(`Cannot import ${path}: it is a folder`); // Node reads nothing from one, without an error.
  }
  const found = isStandard ? undefined : statSync(path, { throwIfNoEntry: false });
  const stream = isStandard ? terminal.stdin() : found?.isFIFO() === true ? createReadStream(path) : undefined;
  const real = found === undefined ? path : realpathSync(path); // Root follows no link at a file, but here it may.
  const file = stream === undefined ? await nodeDisk.openToRead(real) : await copyOf(stream, path, storage);
  if (file === undefined) {
    throw new Error(`Cannot import ${path}: there is no such file`);
  }
  return { path, isStream: stream !== undefined, file };
}

/** Copies standard input, or a pipe, to a file without a name, since it is read twice. */
async function copyOf(input: AsyncIterable<Uint8Array>, path: string, storage: Storage): Promise<DiskFile> {
  let file: DiskFile | undefined;
  try {
    file = await openNameless(tmpdir()).catch(async (error: unknown) => {
      if (storage.kind !== "folder") {
        throw error;
      }
      await nodeDisk.makeFolder(storage.dataDir);
      return openNameless(storage.dataDir);
    });
    let byteCount = 0;
    for await (const bytes of input) {
      await appendAll(file, bytes);
      byteCount += bytes.length;
    }
    return { ...file, size: () => byteCount };
  } catch (error) {
    await file?.close();
    const reason = messageOf(await explain(error));
    throw new Error(`Cannot copy ${path} to a temporary file: ${reason}; nothing was imported`, { cause: error });
  }
}

/** The file loses its name before it gets content, so nothing is left behind, even after a `kill -9`. */
async function openNameless(folder: string): Promise<DiskFile> {
  const path = join(folder, `animal-store-import-${randomUUID()}`);
  const file = await nodeDisk.openToAppend(path);
  await nodeDisk.remove(path);
  return file;
}

/** Calls `use` with a function that adds to a database, a folder, or the process that holds the folder. */
async function withAdder(
  storage: Storage,
  terminal: Terminal,
  stopping: AbortSignal,
  use: (add: AddOptions["add"]) => Promise<void>,
): Promise<void> {
  if (storage.kind === "database") {
    const { withDatabase } = await import("./database.ts");
    const { PostgresPetStore } = await import("../postgres/postgres-pet-store.ts");
    return withDatabase(storage, { work: "import", report: terminal.report }, (database) => {
      const store = new PostgresPetStore(database, systemClock);
      return use((newPets) => addBatch(store, newPets));
    });
  }
  const { dataDir } = storage;
  await nodeDisk.makeFolder(dataDir);
  const report = workReport(terminal);
  const adder = folderAdder({ disk: nodeDisk, clock: systemClock, dataDir, report }, stopping);
  await use((newPets) => adder.add(newPets)).finally(() => adder.close());
}
