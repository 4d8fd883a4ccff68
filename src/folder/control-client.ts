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

/** @param content only for a request with an effect @throws {Error} it has had no effect, and will have none */
export async function send(disk: Disk, dataDir: string, action: ControlAction, content?: string): Promise<Answer> {
  const connection = await disk.reach(folderLockPath(dataDir));
  if (connection === undefined) {
    throw new NotReadyError(`no process holds the folder ${dataDir}`);
  }
  const hasEffect = content !== undefined;
  const head = `${JSON.stringify({ door: controlVersion, do: action })}\n`;
  if (hasEffect) {
    connection.write(`${head}${content}\n`);
  } else {
    connection.end(head);
  }
  return judge(await receive(connection), hasEffect, `the process that holds the folder ${dataDir}`);
}

/**
 * What has become of a request, by what has come of its response:
 *
 *                                  connection ended          connection late
 *     nothing                      NotReadyError             Error: nothing was changed
 *     a part; it has no effect     NotReadyError             Error
 *     a part; it has an effect     OutcomeUnknownError       OutcomeUnknownError, both returned
 *     all                          what its last line says   as for a part
 */
function judge({ text, isLate }: Received, hasEffect: boolean, owner: string): Answer {
  const late = `has not answered for ${controlTimeoutMs / 1_000} s`;
  if (text === "") {
    throw isLate
      ? new Error(`${owner} ${late}: it may be stopped, hang, or be older than release 2.1; nothing was changed`)
      : new NotReadyError(`${owner} has not answered`);
  }
  const [, ...lines] = text.split("\n").slice(0, -1);
  const last = lines.pop();
  if (isLate || last === undefined || !/^\{"(done|error)":/.test(last)) {
    const what = isLate ? late : "has ended";
    if (hasEffect) {
      const failure = new OutcomeUnknownError(`${owner} took the request and ${what}: it may have effect`);
      return { lines: [], isDone: false, failure };
    }
    throw isLate ? new Error(`${owner} ${what}`) : new NotReadyError(`${owner} ${what}`);
  }
  const end = JSON.parse(last) as { readonly done?: boolean } & Parameters<typeof decodeError>[0];
  return { lines, isDone: end.done === true, failure: end.done === undefined ? decodeError(end) : undefined };
}

interface Received {
  readonly text: string;
  readonly isLate: boolean;
}

/**
 * All that comes until the connection ends, or until nothing has come for `controlTimeoutMs`. When the owner's first
 * line comes, an empty line is sent back. Only then may the request take effect.
 */
function receive(connection: Duplex): Promise<Received> {
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
