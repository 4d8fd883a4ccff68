/** A command's side of the door (wire.ts). */

import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";
import type { Duplex } from "node:stream";

import { systemClock } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { folderLockPath } from "../disk/lock.ts";
import { encodeKeyEvent } from "../keys/key-line.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import type { KeyEvent } from "../keys/key.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import type { Added } from "../pets/add-in-batches.ts";
import { decodeError, type DoorAction, doorMs, doorVersion, NotReadyError } from "./door-grammar.ts";

/** Nobody holds the folder now, or the holder closed the connection without a line. */
class UnansweredError extends Error {
  override readonly name = "UnansweredError";
}

/** A holder that ends, or begins, leaves some requests unanswered; one of an older release all of them. */
const unansweredMax = 10;
const retryMs = 50;

/**
 * Works on a folder by `work`, which resolves to undefined while another process holds it, or by `askHolder`, through
 * that process. Both may be called again, as long as nothing has been done.
 */
export async function workOrAsk<Result extends object | boolean>(
  dataDir: string,
  work: () => Promise<Result | undefined>,
  askHolder: () => Promise<Result>,
): Promise<Result> {
  const deadlineMs = systemClock.monotonicMs() + doorMs;
  for (let unansweredCount = 0; ; ) {
    const result = await work();
    if (result !== undefined) {
      return result;
    }
    try {
      return await askHolder();
    } catch (error) {
      if (error instanceof UnansweredError) {
        unansweredCount++;
        if (unansweredCount === unansweredMax) {
          const cause = "the process that holds it answers nothing, so it is of an older release";
          throw new Error(`Cannot use the folder ${dataDir}: ${cause}: restart the service first`);
        }
      } else if (!(error instanceof NotReadyError) || systemClock.monotonicMs() > deadlineMs) {
        throw error;
      }
      await delay(retryMs);
    }
  }
}

/** The keys, with live figures. @throws {Error} as the holder did, or because it does not answer */
export async function listThroughDoor(disk: Disk, dataDir: string): Promise<KeySummary[]> {
  const { lines } = await ask(disk, dataDir, "list");
  return lines.map((line) => JSON.parse(line) as KeySummary); // As the holder makes them.
}

/** As `KeyChanger.change`. */
export async function changeThroughDoor(disk: Disk, dataDir: string, event: KeyEvent): Promise<boolean> {
  const { isDone } = await ask(disk, dataDir, "change", encodeKeyEvent(event));
  return isDone;
}

/**
 * Adds a batch of animals through the process that holds the folder. No animals: asks whether it could.
 * @throws {Error} it did not take the request, so nothing was added
 */
export async function addThroughDoor(disk: Disk, dataDir: string, newPets: readonly NewPet[]): Promise<Added> {
  const lines = newPets.map(({ name, categoryId, status }) => {
    return `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}\n`;
  });
  const { lines: [line = "{}"], failure } = await exchange(disk, dataDir, "add", lines.join(""));
  const { added = 0 } = JSON.parse(line) as { readonly added?: number };
  return { addedCount: added, failure };
}

interface Answer {
  readonly lines: readonly string[];
  readonly isDone: boolean;
}

/** @throws {Error} as the holder did, or because it does not answer */
async function ask(disk: Disk, dataDir: string, action: DoorAction, content = ""): Promise<Answer> {
  const { lines, isDone, failure } = await exchange(disk, dataDir, action, content);
  if (failure !== undefined) {
    throw failure;
  }
  return { lines, isDone };
}

async function exchange(
  disk: Disk,
  dataDir: string,
  action: DoorAction,
  content: string,
): Promise<Answer & { readonly failure: Error | undefined }> {
  const connection = await disk.reach(folderLockPath(dataDir));
  if (connection === undefined) {
    throw new UnansweredError(`no process holds the folder ${dataDir}`);
  }
  connection.end(`${JSON.stringify({ door: doorVersion, do: action })}\n${content}`);
  const { text, isLate } = await receive(connection);
  const [, ...lines] = text.split("\n").slice(0, -1);
  const last = lines.pop();
  if (text === "" && !isLate) {
    throw new UnansweredError(`the process that holds the folder ${dataDir} has not answered`);
  }
  if (text === "") {
    const advice = "it may be stopped or hang; nothing was changed";
    throw new Error(`the process that holds the folder ${dataDir} has not answered for ${doorMs / 1_000} s: ${advice}`);
  }
  if (isLate || last === undefined || !/^\{"(done|error)":/.test(last)) {
    const what = isLate ? `has not answered for ${doorMs / 1_000} s` : "has ended";
    throw new OutcomeUnknownError(`the process that holds the folder took the request and ${what}: it may have effect`);
  }
  const end = JSON.parse(last) as { readonly done?: boolean } & Parameters<typeof decodeError>[0];
  return { lines, isDone: end.done === true, failure: end.done === undefined ? decodeError(end) : undefined };
}

/** All that comes until the connection ends, or until nothing has come for `doorMs`. */
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
      timer = setTimeout(giveUp, doorMs);
    };
    connection.setEncoding("utf8");
    connection.on("data", (more: string) => {
      text += more;
      wait();
    });
    connection.on("close", () => {
      clearTimeout(timer);
      resolve({ text, isLate: false });
    });
    wait();
  });
}
