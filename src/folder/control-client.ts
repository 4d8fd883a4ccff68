/**
 * What commands do with a data folder that another process may hold: they lock a free one and work on it, and ask the
 * process that owns the lock over the control socket (control-protocol.ts). The owner may change, as in a restart.
 */

import type { Duplex } from "node:stream";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../base/clock.ts";
import type { Disk, FolderSurroundings } from "../disk/disk.ts";
import { folderLockPath, isFolderLocked } from "../disk/lock.ts";
import type { Engine } from "../engine.ts";
import { KeyCommands } from "../keys/key-commands.ts";
import { encodeKeyEvent } from "../keys/key-line.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { KeyDecider } from "../keys/keys.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { addBatch, type Added } from "../pets/add-in-batches.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import { type NewPet, newPetToJson } from "../pets/pet.ts";
import {
  type ControlAction, controlTimeoutMs, controlVersion, decodeError, NotReadyError,
} from "./control-protocol.ts";
import { KeyFile } from "./key-file.ts";
import { limitsFileName, loadLimits } from "./limits-file.ts";

/** The keys of a data folder. */
export function folderKeys(options: FolderSurroundings): KeyDecider {
  const { disk, dataDir } = options;
  return {
    list() {
      const work = async (): Promise<KeySummary[] | undefined> =>
        (await isFolderLocked(disk, dataDir)) ? undefined : (await readKeys(options)).list();
      const ask = async (): Promise<KeySummary[]> => {
        const { lines } = succeeded(await send(disk, dataDir, "list")); // With live figures.
        return lines.map((line) => JSON.parse(line) as KeySummary); // As the lock's owner makes them.
      };
      return workOrAsk(dataDir, work, ask);
    },
    async change(event) {
      if (event.event !== "made" && !(await disk.exists(dataDir))) {
        return (await readKeys(options)).change(event); // Makes no folder for a key that cannot be known.
      }
      await disk.makeFolder(dataDir);
      const work = async (): Promise<boolean | undefined> => {
        const lock = await disk.lock(folderLockPath(dataDir));
        if (lock === undefined) {
          return undefined;
        }
        const { openKeys } = await import("./open-keys.ts"); // A list does without.
        const held = await openKeys(lock, options, () => undefined);
        return held.keys.change(event).finally(() => held.close());
      };
      const ask = async (): Promise<boolean> =>
        succeeded(await send(disk, dataDir, "change", encodeKeyEvent(event))).isDone;
      return workOrAsk(dataDir, work, ask);
    },
  };
}

/** As the last save left them. Writes nothing: the keys of a folder that cannot be written are shown, too. */
async function readKeys(options: FolderSurroundings): Promise<KeyCommands> {
  const { clock, dataDir, disk, report } = options;
  const readLimits = async (keyring: Keyring): Promise<MemoryLimiter> => {
    const limiter = new MemoryLimiter({ clock });
    const fault = await loadLimits(disk, dataDir, limiter, keyring);
    if (fault !== undefined) {
      report(`${limitsFileName} ${fault}; used requests and bans are not shown`, "warning");
    }
    return limiter;
  };
  return new KeyCommands(await KeyFile.open({ ...options, isReadOnly: true }), { clock, readLimits });
}

export interface FolderAdder {
  /** A batch of which nothing was added is tried again. @throws {Error} nothing was added */
  add(newPets: readonly NewPet[]): Promise<Added>;
  /** Resolves when the folder is free, if this process held it. */
  close(): Promise<void>;
}

/** How long a folder that had another owner stays free for the next one, as in a restart. */
const restartMs = 15_000;

/** How long an owner may take to be ready: it may have a large catalogue to read. */
const readyMs = 120_000;

/** Adds animals to a data folder. @param stopping ends waiting */
export function folderAdder(options: FolderSurroundings, stopping: AbortSignal): FolderAdder {
  const { disk, clock, dataDir } = options;
  let engine: Engine | undefined; // Once this process holds the folder.
  let takesFromMs = -Infinity;
  const work = async (newPets: readonly NewPet[]): Promise<Added | undefined> => {
    if (stopping.aborted) {
      throw new Error("a signal has ended it");
    }
    if (engine === undefined && clock.monotonicMs() >= takesFromMs) {
      const lock = await disk.lock(folderLockPath(dataDir));
      takesFromMs = clock.monotonicMs() + restartMs; // If another process holds it.
      // Who only asks does without the engine.
      engine = lock && (await (await import("./engine.ts")).openLockedFolder(lock, options));
    }
    return engine && addBatch(engine.store, newPets);
  };
  const ask = async (newPets: readonly NewPet[]): Promise<Added> => {
    const added = await addThroughSocket(disk, dataDir, newPets);
    takesFromMs = clock.monotonicMs() + restartMs;
    return added;
  };
  return {
    add: (newPets) => workOrAsk(dataDir, () => work(newPets), () => ask(newPets), readyMs),
    close: async () => engine?.close(),
  };
}

/** The lock's owner closed the connection without a line. */
class UnansweredError extends NotReadyError {}

/** An owner that ends leaves some requests unanswered; one of an older release all of them. */
const unansweredMax = 10;
const retryMs = 50;

/**
 * Works on a folder by `work`, which resolves to undefined while another process holds it, or by `askOwner`, through
 * that process. Both are called again as long as nothing has been done, for `patienceMs` at most.
 */
async function workOrAsk<Result extends object | boolean>(
  dataDir: string,
  work: () => Promise<Result | undefined>,
  askOwner: () => Promise<Result>,
  patienceMs: number = controlTimeoutMs,
): Promise<Result> {
  const deadlineMs = systemClock.monotonicMs() + patienceMs;
  for (let unansweredCount = 0; ; ) {
    const result = await work();
    if (result !== undefined) {
      return result;
    }
    try {
      return await askOwner();
    } catch (error) {
      if (error instanceof UnansweredError) {
        unansweredCount++;
        if (unansweredCount === unansweredMax) {
          const cause = "the process that holds it answers nothing, so it is of an older release";
          throw new Error(`Cannot use the folder ${dataDir}: ${cause}: restart the service first`);
        }
      }
      if (!(error instanceof NotReadyError) || systemClock.monotonicMs() > deadlineMs) {
        throw error;
      }
      await delay(retryMs);
    }
  }
}

/** Adds a batch of animals through the process that holds the folder. @throws {Error} nothing was added */
async function addThroughSocket(disk: Disk, dataDir: string, newPets: readonly NewPet[]): Promise<Added> {
  const content = newPets.map((newPet) => `${newPetToJson(newPet)}\n`).join("");
  const { lines: [line = "{}"], failure } = await send(disk, dataDir, "add", content);
  if (failure instanceof NotReadyError) {
    throw failure;
  }
  const { added = 0 } = JSON.parse(line) as { readonly added?: number };
  return { addedCount: added, failure };
}

interface Answer {
  readonly lines: readonly string[];
  readonly isDone: boolean;
  /** As the lock's owner said, or an OutcomeUnknownError. */
  readonly failure: Error | undefined;
}

function succeeded(answer: Answer): Answer {
  if (answer.failure !== undefined) {
    throw answer.failure;
  }
  return answer;
}

/** @param content of a request that has an effect @throws {Error} it has none, nor will it have one */
async function send(disk: Disk, dataDir: string, action: ControlAction, content?: string): Promise<Answer> {
  if (content !== undefined) {
    succeeded(await send(disk, dataDir, "greet"));
  }
  const connection = await disk.reach(folderLockPath(dataDir));
  if (connection === undefined) {
    throw new NotReadyError(`no process holds the folder ${dataDir}`);
  }
  const head = `${JSON.stringify({ door: controlVersion, do: action })}\n`;
  if (content === undefined) {
    connection.end(head);
  } else {
    connection.write(`${head}${content}\n`);
  }
  const { text, isLate } = await receive(connection);
  const [, ...lines] = text.split("\n").slice(0, -1);
  const last = lines.pop();
  const owner = `the process that holds the folder ${dataDir}`;
  if (text === "" && !isLate) {
    throw new UnansweredError(`${owner} has not answered`);
  }
  const late = `has not answered for ${controlTimeoutMs / 1_000} s`;
  if (text === "") {
    throw new Error(`${owner} ${late}: it may be stopped or hang; nothing was changed`);
  }
  if (isLate || last === undefined || !/^\{"(done|error)":/.test(last)) {
    const what = isLate ? late : "has ended";
    if (content === undefined) {
      throw isLate ? new Error(`${owner} ${what}`) : new NotReadyError(`${owner} ${what}`);
    }
    const failure = new OutcomeUnknownError(`${owner} took the request and ${what}: it may have effect`);
    return { lines: [], isDone: false, failure };
  }
  const end = JSON.parse(last) as { readonly done?: boolean } & Parameters<typeof decodeError>[0];
  return { lines, isDone: end.done === true, failure: end.done === undefined ? decodeError(end) : undefined };
}

/**
 * All that comes until the connection ends, or until nothing has come for `controlTimeoutMs`. The first line is
 * answered when it is seen: before that, nothing can have effect.
 */
function receive(connection: Duplex): Promise<{ readonly text: string; readonly isLate: boolean }> {
  return new Promise((resolve) => {
    let text = "";
    let timer: NodeJS.Timeout;
    const giveUp = (): void => {
      const length = text.length;
      // This process may have been stopped too, so it looks at what has come before it gives up.
      setImmediate(() => {
        if (text.length === length) {
          resolve({ text, isLate: true });
          connection.destroy();
        }
      });
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, controlTimeoutMs);
    };
    connection.setEncoding("utf8");
    connection.on("data", (more: string) => {
      text += more;
      wait();
      if (connection.writable && text.includes("\n")) {
        connection.end("\n");
      }
    });
    connection.on("end", () => connection.end());
    connection.on("close", () => {
      clearTimeout(timer);
      resolve({ text, isLate: false });
    });
    wait();
  });
}
