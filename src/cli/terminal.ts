/**
 * What a command may touch of the process it runs in, the exit codes, and output that never waits.
 *
 * Node's own streams do not serve as output. One on a file ends for good at its first error. One on a pipe that nobody
 * reads grows without bound and keeps the process from ending.
 */

import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";

import { systemClock } from "../disk/clock.ts";
import { withoutSecrets } from "../http/secrets.ts";

export const exitDone = 0;
export const exitFailure = 1;
export const exitUsage = 2;

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Whether a person reads standard output. */
  readonly isInteractive: boolean;
  /** Prints whole lines on standard output. API keys in them are blotted out. */
  readonly stdout: (lines: string) => void;
  /** Prints lines with a new key: the only way for a key into output. Returns false if they were dropped. */
  readonly showKey: (lines: string) => boolean;
  /** Prints whole lines on standard error. API keys in them are blotted out. */
  readonly stderr: (lines: string) => void;
}

export interface ProcessTerminal extends Terminal {
  /** Waits until standard output is written, `graceMs` at most. Resolves to why some of it was lost, if it was. */
  readonly finishStdout: (graceMs: number) => Promise<Error | undefined>;
  /** The same for standard error. */
  readonly finishStderr: (graceMs: number) => Promise<Error | undefined>;
}

/** Bytes that may wait for a reader of standard error. Standard output holds what was asked for, and has no bound. */
const stderrWaitingBytesMax = 1_048_576;

export function processTerminal(): ProcessTerminal {
  const stdout = new Output(writerTo(1), Infinity);
  const stderr = new Output(writerTo(2), stderrWaitingBytesMax);
  return {
    environment: process.env,
    isInteractive: isatty(1),
    stdout: (lines) => void stdout.write(withoutSecrets(lines)),
    showKey: (lines) => stdout.write(lines),
    stderr: (lines) => void stderr.write(withoutSecrets(lines)),
    finishStdout: (graceMs) => stdout.finish(graceMs),
    finishStderr: (graceMs) => stderr.finish(graceMs),
  };
}

/** How long a program that has ended waits for a slow reader of its diagnostics. */
const exitGraceMs = 200;

/**
 * Waits for pending output when all else is done. A command waits for the reader of its result, and fails if that is
 * lost. A server waits for nobody: its output is diagnostics. Resolves to the exit code.
 */
export async function finishOutput(terminal: ProcessTerminal, code: number, isServer: boolean): Promise<number> {
  const lostTo = await terminal.finishStdout(isServer ? exitGraceMs : Infinity);
  const isFailed = lostTo !== undefined && !isServer;
  if (isFailed) {
    terminal.stderr(`Cannot write to standard output: ${lostTo.message}\n`);
  }
  await terminal.finishStderr(exitGraceMs);
  return isFailed && code === exitDone ? exitFailure : code;
}

/** Writes some of the bytes and returns how many, or throws. Must not wait. */
export type WriteSome = (bytes: Uint8Array) => number;

const retryMs = 10;
const newline = 0x0a;

/**
 * Lines for one descriptor. What a full pipe does not take yet waits in memory. Text beyond the bound is dropped, and
 * so is text whose write fails. Nothing here throws, waits, or keeps the process running.
 */
export class Output {
  readonly #writeSome: WriteSome;
  readonly #waitingBytesMax: number;
  #waiting: Buffer = Buffer.alloc(0);
  #lastByte = newline;
  #timer: NodeJS.Timeout | undefined;
  #lostTo: Error | undefined;

  constructor(writeSome: WriteSome, waitingBytesMax: number) {
    this.#writeSome = writeSome;
    this.#waitingBytesMax = waitingBytesMax;
  }

  /** Returns false if the lines were dropped. */
  write(lines: string): boolean {
    const isCut = this.#waiting.length === 0 && this.#lastByte !== newline; // A full disk took part of a line.
    const bytes = Buffer.from(isCut ? `\n${lines}` : lines);
    if (this.#waiting.length > 0 && this.#waiting.length + bytes.length > this.#waitingBytesMax) {
      this.#lostTo ??= new Error("nobody reads it");
      return false;
    }
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    return this.#flush();
  }

  /** Waits until everything is written, `graceMs` at most. Returns why text was lost, if any was. */
  async finish(graceMs: number): Promise<Error | undefined> {
    const deadlineMs = systemClock.monotonicMs() + graceMs;
    while (this.#waiting.length > 0 && systemClock.monotonicMs() < deadlineMs) {
      await delay(retryMs);
      this.#flush();
    }
    return this.#lostTo;
  }

  #flush(): boolean {
    clearTimeout(this.#timer);
    try {
      while (this.#waiting.length > 0) {
        const count = this.#writeSome(this.#waiting);
        this.#lastByte = this.#waiting[count - 1] ?? this.#lastByte;
        this.#waiting = this.#waiting.subarray(count);
      }
      return true;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") {
        this.#timer = setTimeout(() => this.#flush(), retryMs).unref();
        return true;
      }
      this.#lostTo ??= error instanceof Error ? error : new Error(String(error));
      this.#waiting = Buffer.alloc(0);
      return false;
    }
  }
}

/**
 * Writes to a descriptor without waiting for its reader. A pipe or a terminal is opened a second time, so that it stays
 * as it is for other processes. If that fails (a socket, a system without /proc), Node's stream makes the descriptor
 * non-blocking. A file has no reader and is written to directly.
 */
function writerTo(descriptor: 1 | 2): WriteSome {
  const ownDescriptor = fstatSync(descriptor).isFile() ? descriptor : reopened(descriptor);
  return (bytes) => writeSync(ownDescriptor, bytes);
}

function reopened(descriptor: 1 | 2): number {
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return (descriptor === 1 ? process.stdout : process.stderr).fd;
  }
}

/** "1 key", "2 keys". @param noun in the singular */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
