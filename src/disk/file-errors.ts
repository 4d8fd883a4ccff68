import { accessSync, constants, existsSync, lstatSync, readlinkSync, type Stats, statSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { dirname, resolve } from "node:path";

import { codeOf, hasCode, messageOf } from "../base/error-message.ts";
import { userName } from "./owner.ts";

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

/** What the system refused, in a sentence: whom, and which file or folder is why. Its cause is Node's own error. */
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

/** As the promise, but rejects with a `RefusedError` where there is a sentence for it. */
export async function withPath<Found>(path: string, pending: Promise<Found>): Promise<Found> {
  return pending.catch((error: unknown) => {
    throw explain(error, path);
  });
}

/** Returns a `RefusedError`, or the error itself if there is no sentence for it. @param usedPath if it names none */
export function explain(error: unknown, usedPath?: string): unknown {
  const code = systemCode(error);
  if (code === undefined || error instanceof RefusedError) {
    return error;
  }
  const { path = usedPath, syscall = "" } = error as NodeJS.ErrnoException; // It has a code.
  const absolute = resolve(path ?? "");
  const sentence = path === undefined ? undefined : sentenceOf(code, absolute, callsOnNames.has(syscall));
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

/** They need a right to the folder, whatever has the name. */
const callsOnNames: ReadonlySet<string> = new Set(["link", "listen", "mkdir", "rename", "unlink"]);

function sentenceOf(code: unknown, path: string, isName: boolean): string | undefined {
  const place = isName || !existsSync(path) ? dirname(path) : path;
  switch (code) {
    case "EACCES":
    case "EPERM":
      return whoCannot(place);
    case "EROFS":
      return `${place} is on a read-only file system`;
    case "ENOSPC":
      return `no space is left on the disk of ${place}`;
    case "EDQUOT":
      return `the disk quota is used up on the disk of ${place}`;
    case "ESTALE":
      return `${place} is on a network file system that has lost it`;
    case "EUCLEAN":
      return `the file system of ${place} is damaged`;
    case "ENOENT": {
      const absent = absentOf(isName ? place : path);
      return absent && `${absent} does not exist`;
    }
    default:
      return undefined;
  }
}

/** Undefined if it is not a mode that refuses: the rules of a container or a security module may. */
function whoCannot(place: string): string | undefined {
  const { R_OK, W_OK, X_OK } = constants;
  const isFolder = statOf(place)?.isDirectory() === true;
  const steps: readonly (readonly [path: string, right: number, verb: string])[] = [
    ...foldersAbove(place).map((folder) => [folder, X_OK, "enter"] as const),
    ...(isFolder ? [[place, X_OK, "enter"] as const, [place, W_OK, "write"] as const] : []),
    ...[[place, R_OK, "read"] as const, [place, W_OK, "write"] as const],
  ];
  const [path = place, , verb] = steps.find(([one, right]) => !mayUse(one, right)) ?? [];
  const [uid, stats] = [process.geteuid?.(), statOf(path)];
  if (verb === undefined || uid === undefined || stats === undefined) {
    return undefined;
  }
  const mode = (stats.mode & 0o7777).toString(8);
  return `user ${userName(uid)} cannot ${verb} ${path} (mode ${mode}, owner ${userName(stats.uid)})`;
}

/** From the root on. */
function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [...foldersAbove(folder), folder];
}

function mayUse(path: string, right: number): boolean {
  try {
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // It is behind a folder that cannot be entered.
  }
}

/** The first part of the path that is not there, or of where its link leads. */
function absentOf(path: string): string | undefined {
  if (existsSync(path)) {
    return undefined;
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    return absentOf(resolve(dirname(path), readlinkSync(path)));
  }
  return absentOf(dirname(path)) ?? path;
}

/** A failure to read the file, with its path: a system error about an open file does not contain it. */
export function readError(path: string, cause: unknown): Error {
  if (cause instanceof RefusedError) {
    return cause;
  }
  return Object.assign(new Error(`Cannot read ${path}: ${messageOf(cause)}`, { cause }), { code: codeOf(cause), path });
}
