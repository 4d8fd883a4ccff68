/**
 * The client of the control socket (control-protocol.ts), for commands. A process may take or leave the folder at any
 * time, as in a restart. So a command works on a free folder itself, else asks the process that holds it, and tries
 * both again until something was done.
 */

import type { Duplex } from "node:stream";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import type { Clock } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { folderLockPath } from "../disk/lock.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import {
  type ControlAction, controlTimeoutMs, controlVersion, decodeError, NotReadyError,
} from "./control-protocol.ts";

const retryMs = 50;

/**
 * Works on a folder by `work`, which resolves to undefined while another process holds it, or by `askOwner`, through
 * that process. Both are called again as long as nothing has been done, for `patienceMs` at most.
 */
export async function workOrAsk<Result extends object | boolean>(
  work: () => Promise<Result | undefined>,
  askOwner: () => Promise<Result>,
  clock: Clock,
  patienceMs: number = controlTimeoutMs,
): Promise<Result> {
  const deadlineMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const result = await work();
    if (result !== undefined) {
      return result;
    }
    try {
      return await askOwner();
    } catch (error) {
      if (!(error instanceof NotReadyError) || clock.monotonicMs() > deadlineMs) {
        throw error;
      }
      await delay(retryMs);
    }
  }
}

export interface Answer {
  readonly lines: readonly string[];
  readonly isDone: boolean;
  /** The error that the lock's owner sent, or an OutcomeUnknownError. */
  readonly failure: Error | undefined;
}

export function succeeded(answer: Answer): Answer {
  if (answer.failure !== undefined) {
    throw answer.failure;
  }
  return answer;
}

/** @throws {Error} it has had no effect, and will have none */
export async function send(disk: Disk, dataDir: string, action: ControlAction, content: string): Promise<Answer> {
  const owner = `the process that holds the folder ${dataDir}`;
  const connection = await disk.reach(folderLockPath(dataDir));
  if (connection === undefined) {
    throw new NotReadyError(`no process holds the folder ${dataDir}`);
  }
  connection.end(`${JSON.stringify({ door: controlVersion, do: action })}\n${content}\n`);
  const { text, isLate } = await receive(connection);
  if (text === "" && !isLate) {
    throw new NotReadyError(`${owner} has not answered`);
  }
  const [, ...lines] = text.split("\n").slice(0, -1);
  const last = lines.pop();
  if (last === undefined || !/^\{"(done|error)":/.test(last)) {
    const what = isLate ? `has not answered for ${controlTimeoutMs / 1_000} s` : "has ended";
    const failure = new OutcomeUnknownError(`${owner} was asked and ${what}: it may have effect`);
    return { lines: [], isDone: false, failure };
  }
  const end = JSON.parse(last) as { readonly done?: boolean } & Parameters<typeof decodeError>[0];
  return { lines, isDone: end.done === true, failure: end.done === undefined ? decodeError(end) : undefined };
}

/** All that comes until the connection ends, or until nothing has come for `controlTimeoutMs`. */
function receive(connection: Duplex): Promise<{ readonly text: string; readonly isLate: boolean }> {
  return new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => {
      // This process may have been stopped too, so it looks at what has come before it gives up.
      setImmediate(() => {
        resolve({ text, isLate: true });
        connection.destroy();
      });
    }, controlTimeoutMs);
    connection.setEncoding("utf8");
    connection.on("data", (more: string) => {
      text += more;
      timer.refresh();
    });
    connection.on("close", () => {
      clearTimeout(timer);
      resolve({ text, isLate: false });
    });
  });
}
