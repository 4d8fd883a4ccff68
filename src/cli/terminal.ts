/**
 * The parts of the process that commands use: the exit codes, signals, and output that never waits.
 *
 * Node's own streams are not used for output. A stream on a file stops at its first error. A stream on a pipe without a
 * reader grows without bound and keeps the process running.
 */

import { closeSync, constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";

import { systemClock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import { withoutSecrets } from "../base/redact-secrets.ts";
import { type Level, type Report, withLevel } from "../base/report.ts";
import { withoutPasswords } from "./database-address.ts";

export const exitDone = 0;
export const exitFailure = 1;
export const exitUsage = 2;

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Whether a person reads standard error. */
  readonly isWatched: boolean;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Prints whole lines on standard output. API keys and passwords in them are masked. */
  readonly stdout: (lines: string) => void;
  /** Prints lines with a new key, which is not masked. Returns false if the lines were dropped. */
  readonly showKey: (lines: string) => boolean;
  /** Prints whole lines on standard error. API keys and passwords in them are masked. */
  readonly stderr: (lines: string) => void;
  /** Prints one line of diagnostics on standard error. */
  readonly report: Report;
  /** From now on `report` prints JSON objects, so that `jq` reads all of standard error. */
  readonly reportAsJson: () => void;
}

export interface ProcessTerminal extends Terminal {
  /** Waits at most `graceMs` until standard output is written. Resolves to an error if some of it was lost. */
  readonly finishStdout: (graceMs: number) => Promise<Error | undefined>;
  /** The same for standard error. */
  readonly finishStderr: (graceMs: number) => Promise<Error | undefined>;
  /** Closes the descriptors of a terminal that has gone: Node 20 aborts at exit if it cannot reset one. */
  readonly closeGone: () => void;
}

/** Bytes that may wait for a reader of standard error. Standard output holds a command's result, and has no bound. */
const stderrWaitingBytesMax = 1_048_576;

export function processTerminal(): ProcessTerminal {
  // A command's result, or what a start prints before it serves.
  const stdout = new Output(writerTo(1), Infinity);
  const writeLater: WriteLater = (bytes, done) => write(2, bytes, done);
  const stderr = new Output(writerTo(2), stderrWaitingBytesMax, fstatSync(2).isFile() ? writeLater : undefined);
  process.on("exit", () => stderr.writeNow());
  const terminals = [0, 1, 2].filter(isatty);
  return {
    ...terminalOver((lines) => stdout.write(lines), (lines) => stderr.write(lines)),
    environment: process.env,
    isWatched: isatty(2),
    stdin: () => process.stdin,
    finishStdout: (graceMs) => stdout.finish(graceMs),
    finishStderr: (graceMs) => stderr.finish(graceMs),
    closeGone: () => terminals.forEach((descriptor) => isatty(descriptor) || closeSync(descriptor)),
  };
}

/** A terminal over two functions that write whole lines. They return false if the lines were dropped. */
export function terminalOver(
  writeStdout: (lines: string) => boolean,
  writeStderr: (lines: string) => boolean,
): Pick<Terminal, "stdout" | "showKey" | "stderr" | "report" | "reportAsJson"> {
  let isJson = false;
  const stderr = (lines: string): void => void writeStderr(masked(lines));
  return {
    stdout: (lines) => void writeStdout(masked(lines)),
    showKey: writeStdout,
    stderr,
    report: (message, level) => stderr(`${isJson ? jsonLine(message, level) : withLevel(message, level)}\n`),
    reportAsJson: () => void (isJson = true),
  };
}

/** How long work reports: warnings always, progress only to a person. */
export function workReport({ report, isWatched }: Terminal): Report {
  return (message, level) => void ((isWatched || level === "warning") && report(message, level));
}

function jsonLine(message: string, level: Level = "info"): string {
  return JSON.stringify({ time: new Date().toISOString(), level, message });
}

function masked(lines: string): string {
  return withoutPasswords(withoutSecrets(lines));
}

/** How long a program that has ended waits for a slow reader of its diagnostics. */
const exitGraceMs = 200;

/**
 * Waits for pending output when everything else is done. A command waits until its result is read, and fails if the
 * result is lost. A server waits only briefly, because its output is diagnostics. Resolves to the exit code.
 */
export async function finishOutput(terminal: ProcessTerminal, code: number, isServer: boolean): Promise<number> {
  const outputError = await terminal.finishStdout(isServer ? exitGraceMs : Infinity);
  const isFailed = outputError !== undefined && !isServer;
  if (isFailed) {
    const change = "what the command changed stays changed";
    terminal.stderr(`Cannot write to standard output: ${outputError.message}; ${change}\n`);
  }
  await terminal.finishStderr(exitGraceMs);
  terminal.closeGone();
  return isFailed ? exitFailure : code;
}

/** Writes some of the bytes and returns how many, or throws. Must not block. */
export type WriteSome = (bytes: Uint8Array) => number;

/** Writes some of the bytes through the pool, and says how many. */
export type WriteLater = (bytes: Uint8Array, done: (error: Error | null, byteCount: number) => void) => void;

const retryMs = 10;
const newline = 0x0a;

/**
 * Lines for one descriptor. What a full pipe, or a file whose disk hangs, does not take yet waits in memory. Text
 * beyond the bound is dropped, and so is text whose write fails. Writing never throws or blocks.
 */
export class Output {
  readonly #writeSome: WriteSome;
  readonly #waitingBytesMax: number;
  readonly #writeLater: WriteLater | undefined;
  #waiting: Buffer = Buffer.alloc(0);
  /** How many of the waiting bytes, from the first on, are being written. */
  #writingBytes = 0;
  #lastByte = newline;
  #timer: NodeJS.Timeout | undefined;
  #firstError: Error | undefined;

  /** @param writeLater given if each write may wait for a disk */
  constructor(writeSome: WriteSome, waitingBytesMax: number, writeLater?: WriteLater) {
    this.#writeSome = writeSome;
    this.#waitingBytesMax = waitingBytesMax;
    this.#writeLater = writeLater;
  }

  /** Returns false if the lines were dropped. */
  write(lines: string): boolean {
    const isCut = this.#waiting.length === 0 && this.#lastByte !== newline; // A full disk took part of a line.
    const bytes = Buffer.from(isCut ? `\n${lines}` : lines);
    if (this.#waiting.length > 0 && this.#waiting.length + bytes.length > this.#waitingBytesMax) {
      this.#firstError ??= new Error("its reader has stalled");
      return false;
    }
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    return this.#flush();
  }

  /** Waits at most `graceMs` until everything is written. Resolves to the first error if text was lost. */
  async finish(graceMs: number): Promise<Error | undefined> {
    const deadlineMs = systemClock.monotonicMs() + graceMs;
    while (this.#waiting.length > 0 && systemClock.monotonicMs() < deadlineMs) {
      await delay(retryMs);
      this.#flush();
    }
    return this.#firstError;
  }

  /** Call it at the end of the process, when nothing is written later. What is under way is being written already. */
  writeNow(): void {
    this.#waiting = this.#waiting.subarray(this.#writingBytes);
    this.#writingBytes = 0;
    this.#flushNow();
  }

  #flush(): boolean {
    if (this.#writeLater === undefined) {
      return this.#flushNow();
    }
    if (this.#writingBytes === 0 && this.#waiting.length > 0) {
      this.#writingBytes = this.#waiting.length;
      this.#writeLater(this.#waiting, (error, count) => {
        this.#writingBytes = 0;
        if (error === null) {
          this.#written(count);
        } else {
          this.#fail(error);
        }
        this.#flush();
      });
    }
    return true;
  }

  #written(count: number): void {
    this.#lastByte = this.#waiting[count - 1] ?? this.#lastByte;
    this.#waiting = this.#waiting.subarray(count);
  }

  #fail(error: unknown): void {
    this.#firstError ??= error instanceof Error ? error : new Error(messageOf(error));
    this.#waiting = Buffer.alloc(0);
  }

  #flushNow(): boolean {
    clearTimeout(this.#timer);
    try {
      while (this.#waiting.length > 0) {
        this.#written(this.#writeSome(this.#waiting));
      }
      return true;
    } catch (error) {
      if (hasCode(error, "EAGAIN")) {
        this.#timer = setTimeout(() => this.#flush(), retryMs).unref();
        return true;
      }
      this.#fail(error);
      return false;
    }
  }
}

/**
 * Writes to a descriptor without waiting for its reader. A pipe or a terminal is opened a second time, so that it stays
 * blocking for other processes. If that fails (a socket, a system without /proc), Node's stream makes the descriptor
 * non-blocking. A file has no reader.
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

/** How long the end of the process waits for file calls, such as a write to the log or a look at the certificate. */
const fileCallsGraceMs = 1_000;

/** Ends the process with the code, or by SIGTERM if a file call that is still under way seems to hang. */
export async function endProcess(code: number): Promise<never> {
  const hasFileCalls = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"))
    && process.permission === undefined; // Calls that the permission model has refused stay in the list.
  const deadlineMs = systemClock.monotonicMs() + fileCallsGraceMs;
  while (hasFileCalls()) {
    if (systemClock.monotonicMs() >= deadlineMs) {
      return endBySignal("SIGTERM", code);
    }
    await delay(retryMs);
  }
  // Node's own end would wait for connections that a client of the database has left open, and removes the listeners
  // for signals first: a repeated signal would kill it.
  return process.exit(code);
}

/** Ends the process by the signal's own default action: `process.exit` waits for file calls, and those may hang. */
function endBySignal(signal: NodeJS.Signals, code: number): never {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return process.exit(code); // Only the first process of a container gets here: its own signals do not end it.
}

/** npm, shells and `timeout` send a signal twice, or pass on one that the terminal sent to all. */
const repeatedWithinMs = 1_000;

/**
 * Returns a signal that is aborted by the first SIGTERM or SIGINT. A later one ends the program at once if it comes
 * more than `repeatedWithinMs` after the first.
 *
 * SIGHUP is one of them if the program was started in a terminal, which has then been closed. Elsewhere it means, by
 * custom, that files should be read again: the returned signal gets an event "hangup".
 */
export function stopSignal(hasTerminal: boolean): AbortSignal {
  const controller = new AbortController();
  const stopping = hasTerminal ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT"];
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = systemClock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs > repeatedWithinMs) {
      endBySignal(signal, exitFailure);
    }
    firstMs ??= nowMs;
    controller.abort(new DOMException("a signal has ended it", "AbortError"));
  };
  stopping.forEach((name) => process.on(name, onSignal));
  if (!hasTerminal) {
    process.on("SIGHUP", () => controller.signal.dispatchEvent(new Event("hangup")));
  }
  process.on("SIGUSR1", () => undefined); // Otherwise Node opens its debugger, to every user of the machine.
  return controller.signal;
}
