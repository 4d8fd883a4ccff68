/** The holder's side of the door (wire.ts): it does what commands ask for, as long as it holds the folder. */

import { clearTimeout, setTimeout } from "node:timers";
import type { Duplex } from "node:stream";

import type { Report } from "../base/report.ts";
import type { Lock } from "../disk/disk.ts";
import { decodeKeyText } from "../keys/key-line.ts";
import type { KeyStore } from "../keys/key-store.ts";
import { readNewPet } from "../pets/new-pet.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { addBatch, batchLength } from "../pets/add-in-batches.ts";
import { type DoorAction, doorMs, doorVersion, encodeError, NotReadyError, requestBytesMax } from "./door-grammar.ts";

export interface DoorOptions {
  readonly keys: KeyStore;
  /** Undefined while the holder has no catalogue open. */
  readonly store: () => Pick<PetStore, "add"> | undefined;
  /** Told of each change of a key. */
  readonly report: Report;
}

export interface Door {
  /** From now on nothing is done. Resolves when what was being done has its response, or can have none. */
  close(): Promise<void>;
}

/** An honest command sends far fewer. */
const chunksMax = 1_024;

export function openDoor(lock: Pick<Lock, "answer">, options: DoorOptions): Door {
  const responding = new Set<Promise<void>>();
  let isClosed = false;
  lock.answer((connection) => void receive(connection).then((request) => {
    if (request === "" || isClosed) {
      connection.destroy(); // Who looks whether the folder is held says nothing.
      return;
    }
    const response = respond(connection, request, options).finally(() => responding.delete(response));
    responding.add(response);
  }));
  return {
    async close() {
      isClosed = true;
      await Promise.all(responding);
    },
  };
}

/** Resolves to the whole request; "" if there is none, or it is too long or too late. */
function receive(connection: Duplex): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let byteCount = 0;
    const timer = setTimeout(() => connection.destroy(), doorMs).unref();
    connection.on("data", (chunk: Uint8Array) => {
      byteCount += chunk.length;
      if (byteCount > requestBytesMax || chunks.push(chunk) > chunksMax) {
        connection.destroy();
      }
    });
    connection.on("end", () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString());
    });
    connection.on("close", () => {
      clearTimeout(timer);
      resolve("");
    });
  });
}

/** Never rejects. */
async function respond(connection: Duplex, request: string, options: DoorOptions): Promise<void> {
  const isAwaited = await new Promise((resolve) => {
    connection.write(`{"door":${doorVersion}}\n`, (error) => resolve(error === null || error === undefined));
  });
  if (!isAwaited) {
    connection.destroy(); // Who asked has given up, so nothing may happen any more.
    return;
  }
  const lines: string[] = [];
  let end: string;
  try {
    end = JSON.stringify({ done: await perform(request, options, (line) => void lines.push(line)) });
  } catch (error) {
    end = encodeError(error);
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => connection.destroy(), doorMs).unref(); // It does not read its response.
    connection.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
    connection.end([...lines, end].map((line) => `${line}\n`).join(""));
  });
}

/** Resolves to whether anything was changed. @throws {Error} for whoever asked */
async function perform(request: string, options: DoorOptions, say: (line: string) => void): Promise<boolean> {
  const [head = "", ...lines] = request.split("\n").slice(0, -1);
  const { door, do: action } = parseHead(head);
  if (door !== doorVersion) {
    throw new Error(`the process that holds the folder is of another release: use that one, or restart it`);
  }
  switch (action) {
    case "list":
      (await options.keys.list()).forEach((key) => say(JSON.stringify(key)));
      return true;
    case "change":
      return change(lines[0] ?? "", options);
    case "add":
      return add(lines, options, say);
    default:
      throw new Error("the process that holds the folder does not know this request");
  }
}

function parseHead(line: string): { readonly door?: unknown; readonly do?: DoorAction } {
  try {
    const head = JSON.parse(line) as unknown;
    return typeof head === "object" && head !== null ? head : {};
  } catch {
    return {}; // No command sends it.
  }
}

async function change(line: string, { keys, report }: DoorOptions): Promise<boolean> {
  const event = decodeKeyText(line);
  if ("kind" in event) {
    throw new Error(`the process that holds the folder cannot read the request: ${event.reason}`);
  }
  const isChanged = await keys.change(event);
  if (isChanged) {
    report(`a command changed the key ${event.id}: ${event.event}`);
  }
  return isChanged;
}

/** Says how many were added: if not all were, those before the others. */
async function add(lines: readonly string[], { store }: DoorOptions, say: (line: string) => void): Promise<true> {
  const catalogue = store();
  if (catalogue === undefined) {
    throw new NotReadyError("the process that holds the folder has not opened the catalogue");
  }
  const newPets = lines.slice(0, batchLength + 1).map((line) => {
    const reading = readNewPet(Buffer.from(line));
    if (reading.kind !== "valid") {
      throw new Error(reading.message);
    }
    return reading.value;
  });
  if (newPets.length > batchLength) {
    throw new Error(`at most ${batchLength} animals are added at a time`);
  }
  const { addedCount, failure } = await addBatch(catalogue, newPets);
  say(JSON.stringify({ added: addedCount }));
  if (failure !== undefined) {
    throw failure;
  }
  return true;
}
