/**
 * Output that never waits, and shows no secrets.
 *
 * Node's own streams are not used. A stream on a file stops at its first error. A stream on a pipe without a reader
 * grows without bound and keeps the process running.
 */

import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { clearTimeout, setTimeout } from "node:timers";
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import { withoutSecrets } from "../base/redact-secrets.ts";
import { withoutPasswords } from "./database-address.ts";

export function masked(lines: string): string {
  return withoutPasswords(withoutSecrets(lines));
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
      await delay(retryMs); // What is waiting has a timer, or a write that is under way.
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
export function writerTo(descriptor: 1 | 2): WriteSome {
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
