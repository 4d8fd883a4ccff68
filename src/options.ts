/**
 * The options of a service that somebody embeds, checked like the settings of the server that is built on them.
 */

import {
  defaultBasePath,
  checkTrustedProxyCount,
  parseBaseUrl,
  parseOrigins,
} from "./cli/settings.ts";
import type { PetStore } from "./pets/pet-store.ts";

export interface AnimalStoreOptions {
  /** Folder of everything that is kept; made where it is missing. One service a folder. */
  readonly dataDir: string;
  /** Public base address; its path must end in `/v1` and is where the API is mounted (default `/v1`). */
  readonly baseUrl?: string | undefined;
  /** Base address of the staging deployment, for the description. */
  readonly stagingBaseUrl?: string | undefined;
  /** How many proxies in front append to X-Forwarded-For (default 0: the field is ignored). */
  readonly trustProxy?: number | undefined;
  /** Origins that browsers may call from, or ["*"] (default none). */
  readonly corsOrigins?: readonly string[] | undefined;
  /** A catalogue of your own; the folder then holds keys and limits only. It is closed with the service. */
  readonly store?: PetStore | undefined;
  /** Told, in one line, of what an operator should know (default: a line on stderr). */
  readonly report?: ((message: string) => void) | undefined;
}

export interface CheckedOptions {
  readonly dataDir: string;
  /** Undefined: links are paths, since nothing that a client sends may decide where they lead. */
  readonly baseUrl: string | undefined;
  readonly basePath: string;
  readonly stagingBaseUrl: string | undefined;
  readonly trustedProxyCount: number;
  readonly corsOrigins: readonly string[];
  readonly store: PetStore | undefined;
  readonly report: (message: string) => void;
}

const optionNames: ReadonlySet<string> = new Set([
  "dataDir",
  "baseUrl",
  "stagingBaseUrl",
  "trustProxy",
  "corsOrigins",
  "store",
  "report",
]);

const storeMethods: readonly (keyof PetStore)[] = ["add", "get", "list", "isWritable", "close"];

/** @throws {RangeError} naming the option and what it must be */
export function checkOptions(options: AnimalStoreOptions): CheckedOptions {
  if (typeof options !== "object" || options === null) {
    throw new RangeError("Cannot open animal store: give it options, { dataDir } at least");
  }
  const unknown = Object.keys(options).find((name) => !optionNames.has(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot open animal store: there is no option "${unknown}"`);
  }
  if (typeof options.dataDir !== "string" || options.dataDir === "") {
    throw new RangeError("Cannot open animal store: dataDir must be the path of a folder");
  }
  if (options.report !== undefined && typeof options.report !== "function") {
    throw new RangeError("Cannot open animal store: report must be a function");
  }
  const base = checked("baseUrl", options.baseUrl, parseBaseUrl);
  return {
    dataDir: options.dataDir,
    baseUrl: base?.url,
    basePath: base?.path ?? defaultBasePath,
    stagingBaseUrl: checked("stagingBaseUrl", options.stagingBaseUrl, parseBaseUrl)?.url,
    trustedProxyCount: checked("trustProxy", options.trustProxy, checkTrustedProxyCount) ?? 0,
    corsOrigins: checked("corsOrigins", options.corsOrigins, parseOrigins) ?? [],
    store: options.store === undefined ? undefined : checkStore(options.store),
    report: options.report ?? ((message) => void process.stderr.write(`animal-store: ${message}\n`)),
  };
}

/** Not by `checked`: a store cannot be quoted. */
function checkStore(store: PetStore): PetStore {
  const missing = storeMethods.find((name) => typeof store[name] !== "function");
  if (missing !== undefined) {
    throw new RangeError(`Cannot open animal store: store must have the method "${missing}"`);
  }
  return store;
}

function checked<Given, Value>(
  name: keyof AnimalStoreOptions,
  given: Given | undefined,
  parse: (given: Given) => Value,
): Value | undefined {
  try {
    return given === undefined ? undefined : parse(given);
  } catch (error) {
    const reason = error instanceof RangeError ? error.message : "is of the wrong type";
    throw new RangeError(`Cannot open animal store: ${name} ${reason}, received ${JSON.stringify(given)}`);
  }
}
