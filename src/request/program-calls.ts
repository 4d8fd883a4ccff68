/** The catalogue for the program that embeds the service: its operations without HTTP, key and limits. */

import { type ApiRequest, type ApiResponse, errorOf } from "../client/client.ts";
import { errorResponse, type Response } from "../http/response.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { changePet, createPet, getPet, listPets, type PetRequest, removePet } from "./handlers.ts";
import { storeErrorCode } from "./responder.ts";

/** The owner of the `Idempotency-Key` values that the program uses, as an API key is of its own. */
const program = { id: "program" };

/** Returns what the client's `Pets` calls instead of a server. Errors that no store promises are thrown as they are. */
export function programCalls(store: PetStore): (call: ApiRequest) => Promise<ApiResponse> {
  return async ({ method = "GET", target, fields = {}, content = "", signal }) => {
    const [path = "", query = ""] = target.split("?");
    const lowerCased = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
    const parameter = path.split("/")[2] ?? "";
    const request = { store, query, parameter, key: program, fields: lowerCased, linkBase: "" };
    const responding = (): Promise<Response> => respond(method, request, Buffer.from(content));
    const { status, content: json = "", fields: ownFields } = await unlessAborted(signal, responding);
    const response = {
      status,
      text: Buffer.from(json).toString(),
      // Nothing in between can hide a field: one that is not there is empty, not unreadable.
      field: (name: string) => ownFields[ownFields.indexOf(name) + 1 || ownFields.length] ?? "",
    };
    if (status >= 300) {
      throw errorOf(response);
    }
    return response;
  };
}

/** Rejects when the signal is aborted, although the store goes on with what it has begun. */
async function unlessAborted<Value>(signal: AbortSignal | null | undefined, run: () => Promise<Value>): Promise<Value> {
  signal?.throwIfAborted();
  const running = run();
  if (signal === null || signal === undefined) {
    return running;
  }
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort);
    void running.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

type Method = NonNullable<ApiRequest["method"]>;

async function respond(method: Method, request: PetRequest, content: Uint8Array): Promise<Response> {
  const unread = { headers: {}, countField: () => 0, readContent: () => content };
  const read = request.parameter === "" ? listPets : getPet;
  const handle = { GET: read, POST: createPet, PATCH: changePet, DELETE: removePet }[method];
  try {
    return (await handle(request, unread)) as Response; // The content is there, so nothing else comes of it.
  } catch (error) {
    const code = storeErrorCode(error);
    if (code === undefined) {
      throw error;
    }
    return errorResponse(code);
  }
}
