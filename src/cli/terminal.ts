/** What commands ask of the terminal, or whatever stands in its place, and the exit codes that they return. */

import { closeSync, fstatSync, write } from "node:fs";
import { isatty } from "node:tty";

import { type Level, type Report, withLevel } from "../base/report.ts";
import { masked, Output, type WriteLater, writerTo } from "./output.ts";

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
