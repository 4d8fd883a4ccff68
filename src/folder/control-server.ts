/** The server of the control socket (control-protocol.ts): the lock's owner does what commands ask for. */

import type { Duplex } from "node:stream";
import { clearTimeout, setTimeout } from "node:timers";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { ByteBuilder } from "../base/byte-builder.ts";
import { forEachYielding } from "../base/for-each-yielding.ts";
import type { Report } from "../base/report.ts";
import { SerialQueue } from "../base/serial-queue.ts";
import type { Lock } from "../disk/disk.ts";
import { decodeKeyText } from "../keys/key-line.ts";
import type { KeyDecider } from "../keys/keys.ts";
import { addBatch, batchLength } from "../pets/add-in-batches.ts";
import { readNewPet } from "../pets/new-pet.ts";
import type { PetStore } from "../pets/pet-store.ts";
import {
  confirmMs, type ControlAction, controlTimeoutMs, controlVersion, encodeError, NotReadyError, requestBytesMax,
} from "./control-protocol.ts";

export interface ControlServerOptions {
  readonly keys: KeyDecider;
  /** Undefined while the lock's owner has no catalogue open. */
  readonly store: () => Pick<PetStore, "add"> | undefined;
  /** Called for each change of a key. */
  readonly report: Report;
}

const newline = 0x0a;

/** Lines that are sent in one turn of the event loop. */
const pieceLines = 500;

const firstLine = `{"door":${controlVersion}}`;

/**
 * Opens the server, and returns a function that closes it: from then on no request takes effect. Its promise resolves
 * when each request under way has its response, or can have none.
 */
export function openControlServer(lock: Pick<Lock, "answer">, options: ControlServerOptions): () => Promise<void> {
  const responding = new Set<Promise<void>>();
  const effects = new SerialQueue();
  let isClosed = false;
  const takeTurn = async (connection: Duplex, request: Request): Promise<string[]> => {
    if (isClosed) {
      return [firstLine, encodeError(new NotReadyError("the process that holds the folder is about to stop"))];
    }
    switch (await confirm(connection)) {
      case "confirmed":
        return linesOf(request, options);
      case "late":
        return [encodeError(new NotReadyError(`the command was stopped for ${confirmMs} ms, so nothing was done`))];
      case "gone":
        return [];
    }
  };
  const respond = async (connection: Duplex, request: Request): Promise<void> => {
    return send(connection, await effects.run(() => takeTurn(connection, request)));
  };
  const respondAtOnce = async (connection: Duplex, request: Request): Promise<void> => {
    return send(connection, [firstLine, ...(await linesOf(request, options))]);
  };
  lock.answer((connection) => void receive(connection).then((text) => {
    if (text === "") {
      connection.destroy(); // A process that only looks whether the folder is held sends nothing.
      return;
    }
    const request = parse(text);
    if (request.door !== controlVersion || (request.do !== "change" && request.do !== "add")) {
      void respondAtOnce(connection, request); // A stop does not wait for slow readers: they ask again.
      return;
    }
    const response = respond(connection, request).finally(() => responding.delete(response));
    responding.add(response);
  }));
  return async () => {
    isClosed = true;
    await Promise.all(responding);
  };
}

/** Resolves to the whole request; "" if there is none, or it is too long or too late. */
function receive(connection: Duplex): Promise<string> {
  return new Promise((resolve) => {
    const request = new ByteBuilder();
    const timer = setTimeout(() => connection.destroy(), controlTimeoutMs).unref();
    const finish = (bytes: Uint8Array): void => {
      clearTimeout(timer);
      connection.off("data", take);
      resolve(Buffer.from(bytes).toString());
    };
    const take = (chunk: Uint8Array): void => {
      request.append(chunk);
      if (request.length > requestBytesMax) {
        connection.destroy();
      } else if (request.bytes.at(-1) === newline && request.bytes.at(-2) === newline) {
        finish(request.bytes);
      }
    };
    connection.on("data", take);
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

/** Sends the first line. Resolves to whether the command has answered it in time, or has gone. */
function confirm(connection: Duplex): Promise<"confirmed" | "late" | "gone"> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("late"), confirmMs);
    const settle = (outcome: "confirmed" | "gone"): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    if (connection.readableEnded || connection.destroyed) {
      settle("gone");
      return;
    }
    connection.once("data", () => settle("confirmed"));
    connection.once("end", () => settle("gone")).once("close", () => settle("gone"));
    connection.write(`${firstLine}\n`);
  });
}

/** What the response says after its first line. Never rejects. */
async function linesOf(request: Request, options: ControlServerOptions): Promise<string[]> {
  const lines: string[] = [];
  try {
    const isDone = await perform(request, options, (line) => void lines.push(line));
    lines.push(JSON.stringify({ done: isDone }));
  } catch (error) {
    lines.push(encodeError(error));
  }
  return lines;
}

/**
 * Sends the lines in pieces, between which other things have a turn. Resolves when the system has them, and does not
 * wait for a command that was stopped: it reads them when it goes on. Never rejects.
 */
async function send(connection: Duplex, lines: readonly string[]): Promise<void> {
  if (connection.destroyed) {
    return;
  }
  const timer = setTimeout(() => connection.destroy(), controlTimeoutMs);
  const closed = new Promise<void>((resolve) => connection.once("close", resolve));
  void closed.then(() => clearTimeout(timer));
  for (let sent = 0; sent < lines.length && !connection.destroyed; sent += pieceLines) {
    const piece = lines.slice(sent, sent + pieceLines).map((line) => `${line}\n`).join("");
    if (!connection.write(piece)) {
      await Promise.race([closed, new Promise((resolve) => connection.once("drain", resolve))]);
    }
    await eventLoopTurn();
    timer.refresh();
  }
  await Promise.race([closed, new Promise<void>((resolve) => connection.end(resolve))]);
}

/** Resolves to whether anything was changed. @throws {Error} for the command */
async function perform(request: Request, options: ControlServerOptions, say: (line: string) => void): Promise<boolean> {
  const { door, do: action, lines } = request;
  if (door !== controlVersion) {
    throw new Error("the process that holds the folder is of another release: use that one, or restart it");
  }
  switch (action) {
    case "greet":
      return true;
    case "list":
      await forEachYielding(await options.keys.list(), (key) => say(JSON.stringify(key)));
      return true;
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
