/**
 * The protocol of the control socket, which is the lock of a folder. A command that finds the folder held by another
 * process connects to that process and sends a request:
 *
 *     request  = '{"door":2,"do":' ( '"greet"' / '"list"' / '"change"' / '"add"' ) '}' LF *line
 *     response = '{"door":2}' LF *line end
 *     end      = '{"done":' ( "true" / "false" ) '}' LF / '{"error":…,"code":…,"message":…}' LF
 *
 * "greet" and "list" have no lines and no effect, and end by closing the sending side. The response to "list" has a
 * line for each key, a KeySummary. "change" has one line, an event as keys.jsonl has it, with the SHA-256 of a secret,
 * never the secret. "add" has a NewPet in each line, and adds them together. An end with `false` says that there was
 * nothing to change.
 *
 * "change" and "add" end in an empty line, and wait for their turn: one of them is under way at a time. At its turn the
 * owner sends the first line of its response, and does nothing before the command has answered that with another empty
 * line. So what a command has given up before it saw the first line never takes effect, and what it gives up later may.
 *
 * No command sends "greet" any more: those of release 2.1 send it first, by a connection of its own.
 */

import { KeyError, type KeyFault } from "../keys/key.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";

export const controlVersion = 2;

export type ControlAction = "greet" | "list" | "change" | "add";

/** Enough for a whole batch of animals with the longest names. */
export const requestBytesMax = 1_048_576;

/** How long a request may take to arrive, and each part of the response. */
export const controlTimeoutMs = 10_000;

/** How long a command may take to answer the first line. Meanwhile others wait for their turn. */
export const confirmMs = 1_000;

/** Nobody holds the folder, or its owner cannot do this, or not yet: nothing was done. */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
}

interface WireError {
  readonly error: string;
  readonly code?: KeyFault | undefined;
  readonly message: string;
}

export function encodeError(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const wire: WireError = { error: name, code: error instanceof KeyError ? error.code : undefined, message };
  return JSON.stringify(wire);
}

export function decodeError({ error, code, message }: WireError): Error {
  if (error === "KeyError") {
    return new KeyError(code ?? "key_file_damaged", message);
  }
  const kinds = [NotReadyError, StorageUnavailableError, OutcomeUnknownError];
  return new (kinds.find(({ name }) => name === error) ?? Error)(message);
}
