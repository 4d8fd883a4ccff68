/** The server of the control socket (control-protocol.ts): the lock's owner does what commands ask for. */

import type { Duplex } from "node:stream";
import { clearTimeout, setTimeout } from "node:timers";

import { ByteBuilder } from "../base/byte-builder.ts";
import type { Report } from "../base/report.ts";
import type { Lock } from "../disk/disk.ts";
import { decodeKeyText } from "../keys/key-line.ts";
import type { KeyDecider } from "../keys/keys.ts";
import { addBatch, batchLength } from "../pets/add-in-batches.ts";
import { readNewPet } from "../pets/new-pet.ts";
import type { PetStore } from "../pets/pet-store.ts";
import {
  type ControlAction, controlTimeoutMs, controlVersion, encodeError, NotReadyError, requestBytesMax,
} from "./control-protocol.ts";

export interface ControlServerOptions {
  readonly keys: Pick<KeyDecider, "change">;
  /** Undefined while the lock's owner has no catalogue open. */
  readonly store: () => Pick<PetStore, "add"> | undefined;
  /** Called for each change of a key. */
  readonly report: Report;
}

/**
 * Opens the server, and returns a function that closes it: from then on no request takes effect. Its promise resolves
 * when each request under way has its response.
 */
export function openControlServer(lock: Pick<Lock, "answer">, options: ControlServerOptions): () => Promise<void> {
  const responding = new Set<Promise<void>>();
  let isClosed = false;
  const respond = async (connection: Duplex, text: string): Promise<void> => {
    await written((done) => connection.write(`{"door":${controlVersion}}\n`, done));
    const lines: string[] = [];
    try {
      if (isClosed) {
        throw new NotReadyError("the process that holds the folder is about to stop");
      }
      const isDone = await perform(parse(text), options, (line) => void lines.push(line));
      lines.push(JSON.stringify({ done: isDone }));
    } catch (error) {
      lines.push(encodeError(error));
    }
    await written((done) => connection.end(`${lines.join("\n")}\n`, done));
  };
  lock.answer((connection) => void receive(connection).then((text) => {
    if (text === "") {
      connection.destroy(); // A process that only looks whether the folder is held sends nothing.
      return;
    }
    const response = respond(connection, text).finally(() => responding.delete(response));
    responding.add(response);
  }));
  return async () => {
    isClosed = true;
    await Promise.all(responding);
  };
}

/** Resolves when the system has what was written, or the connection has ended. */
function written(write: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => write(resolve));
}

/** Resolves to the whole request; "" if there is none, or it is too long or too late. */
function receive(connection: Duplex): Promise<string> {
  return new Promise((resolve) => {
    const request = new ByteBuilder();
    const timer = setTimeout(() => connection.destroy(), controlTimeoutMs).unref();
    const finish = (bytes: Uint8Array): void => {
      clearTimeout(timer);
      resolve(Buffer.from(bytes).toString());
    };
    connection.on("data", (chunk: Uint8Array) => {
      request.append(chunk);
      if (request.length > requestBytesMax) {
        connection.destroy();
      } else if (request.bytes.at(-1) === 0x0a && request.bytes.at(-2) === 0x0a) {
        finish(request.bytes); // A command of release 3.0, which waits for an answer before it closes.
      }
    });
    connection.on("end", () => finish(request.bytes));
    connection.on("close", () => finish(Buffer.alloc(0)));
  });
}

interface Request {
  readonly door?: unknown;
  readonly do?: ControlAction;
  readonly lines: readonly string[];
}

function parse(text: string): Request {
  const [head = "", ...lines] = text.split("\n").filter((line) => line !== "");
  try {
    return { ...(JSON.parse(head) as object | null), lines };
  } catch {
    return { lines }; // No command sends such a line.
  }
}

/** Resolves to whether anything was changed. @throws {Error} for the command */
async function perform(request: Request, options: ControlServerOptions, say: (line: string) => void): Promise<boolean> {
  const { door, do: action, lines } = request;
  if (door !== controlVersion) {
    throw new Error("the process that holds the folder is of another release: use that one, or restart it");
  }
  switch (action) {
    case "change":
      return change(lines[0] ?? "", options);
    case "add":
      return add(lines, options, say);
    default:
      throw new Error("the process that holds the folder does not know this request");
  }
}

async function change(line: string, { keys, report }: ControlServerOptions): Promise<boolean> {
  const reading = decodeKeyText(line);
  if (reading.kind !== "event") {
    throw new Error(`the process that holds the folder cannot read the request: ${reading.reason}`);
  }
  const { event } = reading;
  const isChanged = await keys.change(event);
  if (isChanged) {
    report(`a command changed the key ${event.id}: ${event.event}`);
  }
  return isChanged;
}

/** Says how many were added. If not all were, these are the first ones. */
async function add(
  lines: readonly string[],
  { store }: ControlServerOptions,
  say: (line: string) => void,
): Promise<true> {
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
