/**
 * Adds to an error of the system what Node leaves out: the path of an open file, and of a refusal the user, and the
 * mode and owner of what is refused. A running service needs this, too, so all calls are asynchronous: the event loop
 * goes on while a disk hangs.
 */

import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { codeOf, hasCode, messageOf } from "../base/error-message.ts";
import { isRoot, userName } from "./owner.ts";

/** Resolves to undefined if there is no such file. */
export async function undefinedIfAbsent<Found>(pending: Promise<Found>): Promise<Found | undefined> {
  try {
    return await pending;
  } catch (error) {
    if (hasCode(error, "ENOENT")) {
      return undefined;
    }
    throw error;
  }
}

/** An error of the system, whose message names the file or folder. The cause is Node's error. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: unknown;
  readonly path: string;

  constructor(sentence: string, path: string, cause: unknown) {
    super(sentence, { cause });
    this.code = codeOf(cause);
    this.path = path;
  }
}

/** Settles as the promise does, but rejects as `explain` says. */
export async function withPath<Found>(path: string, pending: Promise<Found>): Promise<Found> {
  return pending.catch(async (error: unknown) => {
    throw await explain(error, path);
  });
}

/** Resolves to a `RefusedError`, or the error itself if it has no code or path. @param usedPath if it has none */
export async function explain(error: unknown, usedPath?: string): Promise<unknown> {
  const code = codeOf(error);
  const { path = usedPath, syscall = "" } = (code === undefined ? {} : error) as NodeJS.ErrnoException;
  if (path === undefined || syscall === "" || error instanceof RefusedError) {
    return error;
  }
  const absolute = resolve(path);
  if (code === "ELOOP" && isRoot()) {
    return new RefusedError(`${absolute} is a link, which root does not follow`, absolute, error);
  }
  if (code === "EACCES" || code === "EPERM") {
    const refused = callsOnNames.has(syscall) ? dirname(absolute) : absolute;
    return new RefusedError(await whoIsRefused(refused), absolute, error);
  }
  const message = messageOf(error);
  return message.includes(path) ? error : new RefusedError(`${absolute}: ${message}`, absolute, error);
}

/** System calls that need a right to the folder, whatever the name leads to. */
const callsOnNames: ReadonlySet<string> = new Set(["link", "listen", "mkdir", "rename", "unlink"]);

/** Names what is there of the path, as far as it can be seen: that is what refuses the user. */
async function whoIsRefused(path: string): Promise<string> {
  let place = path;
  let stats: Stats | undefined;
  while ((stats = await stat(place).catch(() => undefined)) === undefined && dirname(place) !== place) {
    place = dirname(place);
  }
  const [user, owner] = [await userName(process.geteuid?.() ?? 0), await userName(stats?.uid ?? 0)];
  return `user ${user} is refused ${place} (mode ${((stats?.mode ?? 0) & 0o7777).toString(8)}, owner ${owner})`;
}
