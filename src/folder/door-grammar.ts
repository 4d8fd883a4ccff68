/**
 * What goes through the door: the socket that is the lock of a folder. A command beside a process that holds the folder
 * connects to it, sends a request, and closes its sending side:
 *
 *     request  = '{"door":1,"do":' ( '"list"' / '"change"' / '"add"' ) '}' LF *line
 *     response = '{"door":1}' LF *line end
 *     end      = '{"done":' ( "true" / "false" ) '}' LF / '{"error":…,"code":…,"message":…}' LF
 *
 * "list" has no lines; its response has one for each key, a KeySummary. "change" has one, an event as keys.jsonl has
 * it, with the SHA-256 of a secret, never the secret. "add" has a NewPet in each, which are added all together.
 *
 * The holder sends the first line of its response before it does anything, and does nothing if that fails: then whoever
 * asked has given up. An end that is `false` says that there was nothing to change. A holder of an older release closes
 * the connection without a line.
 */

import { KeyError, type KeyFault } from "../keys/key.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";

export const doorVersion = 1;

export type DoorAction = "list" | "change" | "add";

/** More than 500 animals with the longest names. */
export const requestBytesMax = 1_048_576;

/** How long a request may take to arrive, and each part of the response. */
export const doorMs = 10_000;

/** The holder cannot do this, or not yet. */
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
  switch (error) {
    case "KeyError":
      return new KeyError(code ?? "key_file_damaged", message);
    case "NotReadyError":
      return new NotReadyError(message);
    case "StorageUnavailableError":
      return new StorageUnavailableError(message);
    case "OutcomeUnknownError":
      return new OutcomeUnknownError(message);
    default:
      return new Error(message);
  }
}
