/**
 * A lock of lock.ts that goes on one call at a time, so that a test can put what others do between any two of them.
 *
 * Each call that it makes of the file system or of a socket waits for the test first. Locks that are not stepwise, and
 * the test itself, are not touched. The sockets are real ones.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";

import type { Lock } from "../../src/disk/disk.ts";
import { lock } from "../../src/disk/lock.ts";
import { type LockSocket, SocketFolder } from "../../src/disk/lock-socket.ts";

const running = new AsyncLocalStorage<StepwiseLock>();

/** From now on, in this process, the calls that lock.ts makes ask the stepwise lock that they are made for. */
export function makeLocksStepwise(): void {
  waitBefore(fs, ["chmod", "link", "lstat", "mkdir", "readdir", "rename", "rm", "rmdir", "unlink"]);
  syncBuiltinESMExports();
  waitBefore(SocketFolder.prototype, ["listen", "stateOf"]);
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

function waitBefore<Owner extends object>(owner: Owner, names: readonly (keyof Owner & string)[]): void {
  for (const name of names) {
    const original = Reflect.get(owner, name) as Call; // As all are that are named above.
    Reflect.set(owner, name, async function (this: unknown, ...args: readonly unknown[]): Promise<unknown> {
      const contender = running.getStore();
      // Of two paths, as of `link`, the second is what the call is about.
      const path = args.findLast((arg) => typeof arg === "string");
      await contender?.arriveAt(`${name} ${basename(String(path))}`);
      const result = await Reflect.apply(original, this, args);
      if (name === "listen") {
        contender?.sockets.push(result as LockSocket); // That is what `listen` resolves to.
      }
      return result;
    });
  }
}

export class StepwiseLock {
  readonly sockets: LockSocket[] = [];
  /** What it made of the name; undefined until it knows. */
  outcome: "won" | "held" | undefined;
  isDead = false;
  #lock: Lock | undefined;
  #failure: unknown;
  /** The call that it is about to make; undefined when it has come to its end. */
  #call: string | undefined;
  #arrive: () => void = () => undefined;
  #goOn: () => void = () => undefined;
  #isFree = false;

  private constructor() {}

  /** A lock that is about to make its first call. */
  static async begin(path: string): Promise<StepwiseLock> {
    const contender = new StepwiseLock();
    await contender.#untilNextCall(() => void running.run(contender, () => contender.#run(path)));
    return contender;
  }

  /** The call that it is about to make, and on what; undefined when it has come to its end. */
  get call(): string | undefined {
    return this.#call;
  }

  async step(): Promise<void> {
    if (this.#call !== undefined) {
      await this.#untilNextCall(() => this.#goOn());
    }
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
  }

  async steps(count: number): Promise<void> {
    for (let taken = 0; taken < count && this.#call !== undefined; taken++) {
      await this.step();
    }
  }

  async finish(): Promise<"won" | "held" | undefined> {
    while (this.#call !== undefined) {
      await this.step();
    }
    return this.outcome;
  }

  /** Like kill -9: the process stops, its sockets are closed, and their names stay. */
  async die(): Promise<void> {
    this.isDead = true;
    for (const socket of this.sockets.filter((one) => one.server.listening)) {
      const path = String(socket.server.address());
      const keptPath = join(dirname(path), "kept");
      const hasName = existsSync(path);
      if (hasName) {
        await fs.link(path, keptPath); // Closing removes the name that the socket was bound to.
      }
      await socket.close();
      if (hasName) {
        await fs.rename(keptPath, path);
      }
    }
  }

  async release(): Promise<void> {
    this.#isFree = true;
    await this.#lock?.release();
  }

  async arriveAt(call: string): Promise<void> {
    if (this.#isFree) {
      return;
    }
    const permission = new Promise<void>((resolve) => (this.#goOn = resolve));
    this.#call = call;
    this.#arrive();
    await permission;
  }

  async #run(path: string): Promise<void> {
    try {
      this.#lock = await lock(path);
      this.outcome = this.#lock === undefined ? "held" : "won";
    } catch (error) {
      this.#failure = error;
    }
    this.#call = undefined;
    this.#arrive();
  }

  async #untilNextCall(start: () => void): Promise<void> {
    const arrived = new Promise<void>((resolve) => (this.#arrive = resolve));
    start();
    await arrived;
  }
}
