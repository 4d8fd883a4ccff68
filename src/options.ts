/** The options of an embedded service and of the server, checked when it is opened. */

import { resolve } from "node:path";
import { inspect } from "node:util";

import { isHost } from "./base/host.ts";
import { oneLine, withoutSecrets } from "./base/redact-secrets.ts";
import { type Level, type Report, withLevel } from "./base/report.ts";
import type { DatabasePool } from "./postgres/pool.ts";

export interface AnimalStoreOptions {
  /** Folder of keys, limits and catalogue, for one service; made if missing. A relative path is resolved at once. */
  readonly dataDir?: string | undefined;
  /**
   * In place of `dataDir`: a pool of connections to a PostgreSQL database, such as a `Pool` of the package `pg`. Any
   * number of services may share the database. The pool stays open when the service is closed.
   */
  readonly database?: DatabasePool | undefined;
  /** Public base address; its path must end in `/v1` and is where the API is mounted (default `/v1`). */
  readonly baseUrl?: string | undefined;
  /** Base address of the staging deployment, for the description. */
  readonly stagingBaseUrl?: string | undefined;
  /** How many proxies in front append to X-Forwarded-For (default 0: the field is ignored). */
  readonly trustProxy?: number | undefined;
  /** Origins that browsers may call from, or ["*"] (default none). */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Whether `metrics()` counts: it takes a little time of each request (default false). */
  readonly metrics?: boolean | undefined;
  /** Receives what an operator should know, one line, with its level (default: a line on stderr). It may throw. */
  readonly report?: Report | undefined;
}

export interface CheckedOptions {
  /** An absolute path, or a database. */
  readonly storage: string | DatabasePool;
  /** If undefined, links are paths: nothing that a client sends may decide where they lead. */
  readonly baseUrl: string | undefined;
  /** Where the API is mounted: the path of the base address, or "/v1". */
  readonly basePath: string;
  readonly stagingBaseUrl: string | undefined;
  readonly trustedProxyCount: number;
  readonly corsOrigins: readonly string[];
  readonly hasMetrics: boolean;
  /** Takes any text and never throws. */
  readonly report: Report;
}

export const trustedProxyCountMax = 32;

/** The description holds two base addresses, and its size is bounded. */
const baseUrlLengthMax = 256;
const stalledBytesMax = 1_048_576;

const optionNames: readonly string[] = [
  "dataDir", "database", "baseUrl", "stagingBaseUrl", "trustProxy", "corsOrigins", "metrics", "report",
];

/** @throws {RangeError} naming the option and what it must be */
export function checkOptions(options: AnimalStoreOptions): CheckedOptions {
  if (typeof options !== "object" || options === null) {
    throw refusal("options must be an object, with dataDir or database at least");
  }
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown !== undefined) {
    throw refusal(`there is no option "${unknown}"`);
  }
  if (options.report !== undefined && typeof options.report !== "function") {
    throw refusal("report must be a function");
  }
  if (options.metrics !== undefined && typeof options.metrics !== "boolean") {
    throw refusal("metrics must be true or false");
  }
  const baseUrl = checked("baseUrl", options.baseUrl, parseBaseUrl);
  return {
    storage: checkStorage(options),
    baseUrl,
    basePath: baseUrl === undefined ? "/v1" : new URL(baseUrl).pathname,
    stagingBaseUrl: checked("stagingBaseUrl", options.stagingBaseUrl, parseBaseUrl),
    trustedProxyCount: checked("trustProxy", options.trustProxy, checkTrustedProxyCount) ?? 0,
    corsOrigins: checked("corsOrigins", options.corsOrigins, parseOrigins) ?? [],
    hasMetrics: options.metrics ?? false,
    report: harmless(options.report ?? reportOnStderr),
  };
}

function refusal(text: string): RangeError {
  return new RangeError(oneLine(`Cannot open animal store: ${text}`));
}

/**
 * Returns the address without a slash at its end and in ASCII, because it becomes part of header fields. The path may
 * hold nothing that a client could write in two ways, and nothing that a shell would read in the first start's curl.
 * @throws {RangeError} saying what it must be
 */
export function parseBaseUrl(text: string): string {
  const path = /^https?:\/\/[^/?#\s@\\]+((?:\/[A-Za-z0-9._~+,:=@-]+)*\/v1)\/?$/i.exec(text)?.[1];
  if (path === undefined || !URL.canParse(text) || /\/\.{1,2}(?=\/)/.test(path)) {
    const form = "whose path has letters, digits and -._~+,:=@ only and ends in /v1";
    throw new RangeError(`must be an http or https address ${form}, such as https://example.com/v1`);
  }
  if (!path.endsWith("/v1")) {
    throw new RangeError("must have a path that ends in /v1, in lower case");
  }
  const { origin, host } = new URL(text);
  const url = origin + path;
  if (!isHost(host) || host.includes("*")) {
    throw new RangeError("must have a host of letters, digits, dots and hyphens, or an IP address");
  }
  if (withoutSecrets(url) !== url) {
    throw new RangeError("must not contain an API key");
  }
  if (url.length > baseUrlLengthMax) {
    throw new RangeError(`must be at most ${baseUrlLengthMax} characters long`);
  }
  return url;
}

/** The origin of a page that an app or an extension brings, in a scheme of its own. `URL` knows no origin of it. */
const appOrigin = /^(?!https?:|file:)[a-z][a-z0-9+.-]*:\/\/[\w.~:%[\]-]+$/;

/** Origins as a browser sends them (RFC 6454, 6.2). @throws {RangeError} naming the first text that is not one */
export function parseOrigins(texts: readonly string[]): readonly string[] {
  if (!Array.isArray(texts)) {
    throw new RangeError('must be an array of origins, or ["*"]');
  }
  const origins = texts.map((text) => text.trim());
  for (const origin of origins) {
    const sent = URL.canParse(origin) ? new URL(origin).origin : undefined;
    if (origin !== "*" && !appOrigin.test(origin) && (origin !== sent || origin.includes("*"))) {
      const advice = /^https?:/.test(sent ?? "") && sent !== origin ? `: browsers send "${sent}"` : "";
      throw new RangeError(`must be *, or origins such as https://example.com; "${origin}" is not one${advice}`);
    }
  }
  if (origins.includes("*") && origins.length > 1) {
    throw new RangeError("must be either * or a list of origins");
  }
  return origins;
}

function checkTrustedProxyCount(count: number): number {
  if (!Number.isInteger(count) || count < 0 || count > trustedProxyCountMax) {
    throw new RangeError(`must be an integer from 0 to ${trustedProxyCountMax}`);
  }
  return count;
}

/** An embedder's function must not be able to break the service: it may throw, or return a promise that rejects. */
function harmless(report: (...message: Parameters<Report>) => unknown): Report {
  return (message, level = "info") => {
    try {
      Promise.resolve(report(oneLine(message), level)).catch(() => undefined);
    } catch {
      // The report itself failed, so this failure cannot be reported.
    }
  };
}

/** Through `console`, which handles the errors of a stream that cannot be written. */
function reportOnStderr(message: string, level?: Level): void {
  if (process.stderr.writableLength < stalledBytesMax) {
    console.error(`animal-store: ${withLevel(message, level)}`);
  }
}

/** Does not use `checked`, whose message would contain the whole pool, with its password. */
function checkStorage({ dataDir, database }: AnimalStoreOptions): string | DatabasePool {
  if (database !== undefined) {
    if (typeof database?.connect !== "function" || typeof database.on !== "function") {
      throw refusal("database must be a pool of connections, such as a Pool of pg");
    }
    if (dataDir !== undefined) {
      throw refusal("database takes the place of dataDir; give it alone");
    }
    return database;
  }
  if (typeof dataDir !== "string" || dataDir === "" || dataDir.includes("\0")) {
    throw refusal("dataDir must be the path of a folder");
  }
  return resolve(dataDir);
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
    const received = typeof given === "string" ? JSON.stringify(given) : inspect(given, { depth: 1 });
    throw refusal(`${name} ${reason}, received ${received}`);
  }
}
