/**
 * Turns an error of the system into a sentence: which user was refused what, and which file or folder is why. A running
 * service needs this, too, so all calls are asynchronous: the event loop goes on while a disk hangs.
 */

import { constants, type Stats } from "node:fs";
import { access, lstat, readlink, stat } from "node:fs/promises";
import { constants as systemConstants } from "node:os";
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

/** A refusal of the system. The message names the user and the file or folder at fault; the cause is Node's error. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: unknown;
  readonly path: string;

  constructor(sentence: string, path: string, cause: unknown) {
    super(sentence, { cause });
    this.code = systemCode(cause);
    this.path = path;
  }
}

/** Settles as the promise does, but rejects with a `RefusedError` if there is a sentence for the error. */
export async function withPath<Found>(path: string, pending: Promise<Found>): Promise<Found> {
  return pending.catch(async (error: unknown) => {
    throw await explain(error, path);
  });
}

/** Resolves to a `RefusedError`, or the error itself if there is no sentence. @param usedPath if it has none */
export async function explain(error: unknown, usedPath?: string): Promise<unknown> {
  const code = systemCode(error);
  if (code === undefined || error instanceof RefusedError) {
    return error;
  }
  const { path = usedPath, syscall = "" } = error as NodeJS.ErrnoException; // It has a code.
  const absolute = resolve(path ?? "");
  const sentence = path === undefined ? undefined : await sentenceOf(code, absolute, callsOnNames.has(syscall));
  return sentence === undefined ? error : new RefusedError(sentence, absolute, error);
}

/** An error of Linux that libuv has no name for has a text in place of its code: "Unknown system error -122". */
function systemCode(error: unknown): unknown {
  const code = codeOf(error);
  if (!String(code).startsWith("Unknown system error")) {
    return code;
  }
  const names = Object.entries({ ...systemConstants.errno, EUCLEAN: 117 });
  return names.find(([, number]) => number === -((error as NodeJS.ErrnoException).errno ?? 0))?.[0] ?? code;
}

/** System calls that need a right to the folder, whatever the name leads to. */
const callsOnNames: ReadonlySet<string> = new Set(["link", "listen", "mkdir", "rename", "unlink"]);

/** Looks at the disk only for codes with a sentence: after a time-out, each look may take as long again. */
async function sentenceOf(code: unknown, path: string, isName: boolean): Promise<string | undefined> {
  const place = async (): Promise<string> => (isName || !(await exists(path)) ? dirname(path) : path);
  switch (code) {
    case "EACCES":
    case "EPERM":
      return whoCannot(await place());
    case "ELOOP":
      return isRoot() ? `${path} is a link, which root does not follow` : undefined;
    case "EROFS":
      return `${await place()} is on a read-only file system`;
    case "ENOSPC":
      return `no space is left on the disk of ${await place()}`;
    case "EDQUOT":
      return `the disk quota is used up on the disk of ${await place()}`;
    case "ESTALE":
      return `${await place()} is on a network file system that has lost it`;
    case "EUCLEAN":
      return `the file system of ${await place()} is damaged`;
    case "ENOENT": {
      const absent = await absentOf(isName ? dirname(path) : path);
      return absent && `${absent} does not exist`;
    }
    default:
      return undefined;
  }
}

/** Undefined if no file mode is the reason: the rules of a container or a security module may be. */
async function whoCannot(place: string): Promise<string | undefined> {
  const { R_OK, W_OK, X_OK } = constants;
  const isFolder = (await statOf(place))?.isDirectory() === true;
  const steps: readonly (readonly [path: string, right: number, verb: string])[] = [
    ...foldersAbove(place).map((folder) => [folder, X_OK, "enter"] as const),
    ...(isFolder ? [[place, X_OK, "enter"] as const, [place, W_OK, "write"] as const] : []),
    ...[[place, R_OK, "read"] as const, [place, W_OK, "write"] as const],
  ];
  let refused: (typeof steps)[number] | undefined;
  for (const step of steps) {
    refused ??= (await mayUse(step[0], step[1])) ? undefined : step; // One after another: the pool has four threads.
  }
  const [path = place, , verb] = refused ?? [];
  const [uid, stats] = [process.geteuid?.(), await statOf(path)];
  if (verb === undefined || uid === undefined || stats === undefined) {
    return undefined;
  }
  const mode = (stats.mode & 0o7777).toString(8);
  const [user, owner] = [await userName(uid), await userName(stats.uid)];
  return `user ${user} cannot ${verb} ${path} (mode ${mode}, owner ${owner})`;
}

/** The folders that the path goes through, from the root on. */
function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [...foldersAbove(folder), folder];
}

function mayUse(path: string, right: number): Promise<boolean> {
  return access(path, right).then(() => true, () => false);
}

/** Also false for a path behind a folder that cannot be entered. */
function exists(path: string): Promise<boolean> {
  return mayUse(path, constants.F_OK);
}

/** Also undefined for a path behind a folder that cannot be entered. */
function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

/** The first part of the path, or of its link's target, that does not exist; undefined if all of it does. */
async function absentOf(path: string): Promise<string | undefined> {
  if (await exists(path)) {
    return undefined;
  }
  if ((await undefinedIfAbsent(lstat(path)))?.isSymbolicLink() === true) {
    return absentOf(resolve(dirname(path), await readlink(path)));
  }
  return (await absentOf(dirname(path))) ?? path;
}

/** A failure to read the file, with its path: a system error about an open file does not contain it. */
export function readError(path: string, cause: unknown): Error {
  if (cause instanceof RefusedError) {
    return cause;
  }
  return Object.assign(new Error(`Cannot read ${path}: ${messageOf(cause)}`, { cause }), { code: codeOf(cause), path });
}
