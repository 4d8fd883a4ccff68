/**
 * The protocol of the control socket, which is the lock of a folder. A command that finds the folder held by another
 * process connects to that process, sends a request, and closes its sending side:
 *
 *     request  = '{"door":3,"do":' ( '"change"' / '"add"' ) '}' LF *line
 *     response = '{"door":3}' LF *line ( '{"done":' ( "true" / "false" ) '}' / '{"error":…,"code":…,"message":…}' ) LF
 *
 * "change" has one line, an event as keys.jsonl has it, with the SHA-256 of a secret, never the secret. "add" has a
 * NewPet in each line, and adds them together. A response that ends with `false` says that there was nothing to change.
 *
 * The owner sends the first line before it begins. So a request whose connection ends without it has no effect.
 */

import { KeyError, type KeyFault } from "../keys/key.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";

export const controlVersion = 3;

export type ControlAction = "change" | "add";

/** Enough for a whole batch of animals with the longest names. */
export const requestBytesMax = 1_048_576;

/** How long a request may take to arrive, and its response. */
export const controlTimeoutMs = 10_000;

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
