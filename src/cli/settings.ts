/**
 * Every setting of the service: its flag, its variable, its default, its bound and its meaning, checked once, before
 * anything starts (contract, section 1).
 *
 * A flag wins over the variable, the variable over the default. A variable that is set but empty counts as not set.
 */

import { parseFlags, UsageError } from "./flags.ts";

export type LogLevel = "off" | "lifecycle" | "requests";

/** The address that clients know, without a slash at its end, and the path in it under which the API is mounted. */
export interface BaseUrl {
  readonly url: string;
  readonly path: string;
}

export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly baseUrl: BaseUrl | undefined;
  readonly stagingBaseUrl: BaseUrl | undefined;
  readonly trustedProxyCount: number;
  /** Origins as browsers send them, or "*". Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  readonly log: LogLevel;
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
}

/** Where the API is mounted when no base address says otherwise. */
export const defaultBasePath = "/v1";
export const defaultDataDir = "data";

export interface Setting {
  readonly variable: string;
  readonly placeholder: string;
  readonly fallback: string | undefined;
  readonly meaning: string;
}

export type SettingName =
  | "port"
  | "host"
  | "data"
  | "base-url"
  | "staging-base-url"
  | "trust-proxy"
  | "cors-origin"
  | "log"
  | "metrics-port"
  | "metrics-host";

/** By flag, in the order of `--help`. */
export const settingTable: Readonly<Record<SettingName, Setting>> = {
  port: { variable: "PORT", placeholder: "PORT", fallback: "3000", meaning: "port to listen on; 0 picks a free one" },
  host: { variable: "ANIMAL_STORE_HOST", placeholder: "HOST", fallback: "127.0.0.1", meaning: "address to bind" },
  data: {
    variable: "ANIMAL_STORE_DATA",
    placeholder: "FOLDER",
    fallback: defaultDataDir,
    meaning: "folder of everything that is kept",
  },
  "base-url": {
    variable: "ANIMAL_STORE_BASE_URL",
    placeholder: "URL",
    fallback: undefined,
    meaning: "public base address; its path ends in /v1 and is where the API is mounted",
  },
  "staging-base-url": {
    variable: "ANIMAL_STORE_STAGING_BASE_URL",
    placeholder: "URL",
    fallback: undefined,
    meaning: "base address of the staging deployment, named in the OpenAPI description",
  },
  "trust-proxy": {
    variable: "ANIMAL_STORE_TRUST_PROXY",
    placeholder: "COUNT",
    fallback: "0",
    meaning: "how many proxies in front append to X-Forwarded-For",
  },
  "cors-origin": {
    variable: "ANIMAL_STORE_CORS_ORIGIN",
    placeholder: "ORIGINS",
    fallback: undefined,
    meaning: "origins that browsers may call from, comma separated, or *",
  },
  log: {
    variable: "ANIMAL_STORE_LOG",
    placeholder: "LEVEL",
    fallback: "lifecycle",
    meaning: "off, lifecycle, or requests (one JSON line a request as well), on stderr",
  },
  "metrics-port": {
    variable: "ANIMAL_STORE_METRICS_PORT",
    placeholder: "PORT",
    fallback: undefined,
    meaning: "port of the Prometheus metrics at /metrics; none without it",
  },
  "metrics-host": {
    variable: "ANIMAL_STORE_METRICS_HOST",
    placeholder: "HOST",
    fallback: "127.0.0.1",
    meaning: "address to bind for the metrics",
  },
};

export interface SettingsRead {
  readonly settings: Settings;
  /** The setting as the operator wrote it, for a fault that shows only later: `--port 80`, `PORT=80`. */
  readonly cite: (name: SettingName) => string;
}

/**
 * @param args flags of the server, without the program's name
 * @throws {UsageError} one line that names the setting, as the flag or the variable that it came from, and the value
 */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): SettingsRead {
  const known = Object.fromEntries(Object.keys(settingTable).map((flag) => [flag, "value" as const]));
  const { values, operands } = parseFlags(args, known);
  if (operands.length > 0) {
    throw new UsageError(`Cannot use "${operands[0]}": no such command; --help lists those there are`);
  }
  const cite = (name: SettingName): string => {
    const { variable, fallback } = settingTable[name];
    const given = values.get(name);
    if (given === undefined && environment[variable]) {
      return `${variable}=${environment[variable]}`;
    }
    return `--${name} ${given ?? fallback ?? ""}`;
  };
  function read<Value>(name: SettingName, parse: (text: string) => Value): Value | undefined {
    const { variable, fallback } = settingTable[name];
    const text = values.get(name) ?? (environment[variable] || fallback);
    try {
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      throw new UsageError(`Cannot use ${cite(name)}: ${(error as RangeError).message}`);
    }
  }
  function readRequired<Value>(name: SettingName, parse: (text: string) => Value): Value {
    const value = read(name, parse);
    if (value === undefined) {
      throw new UsageError(`Cannot use ${cite(name)}: must not be empty`);
    }
    return value;
  }
  const settings: Settings = {
    port: readRequired("port", parsePort),
    host: readRequired("host", parseText),
    dataDir: readRequired("data", parseText),
    baseUrl: read("base-url", parseBaseUrl),
    stagingBaseUrl: read("staging-base-url", parseBaseUrl),
    trustedProxyCount: readRequired("trust-proxy", (text) => parseInteger(text, trustedProxyCountMax)),
    corsOrigins: read("cors-origin", (text) => parseOrigins(text.split(","))) ?? [],
    log: readRequired("log", parseLogLevel),
    metricsPort: read("metrics-port", parsePort),
    metricsHost: readRequired("metrics-host", parseText),
  };
  return { settings, cite };
}

const trustedProxyCountMax = 32;

function parsePort(text: string): number {
  return parseInteger(text, 65_535);
}

function parseInteger(text: string, max: number): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(text) || Number(text) > max) {
    throw new RangeError(`must be an integer from 0 to ${max}`);
  }
  return Number(text);
}

function parseText(text: string): string {
  if (text.trim() === "" || text.includes("\0")) {
    throw new RangeError("must not be empty");
  }
  return text;
}

function parseLogLevel(text: string): LogLevel {
  if (text !== "off" && text !== "lifecycle" && text !== "requests") {
    throw new RangeError("must be off, lifecycle or requests");
  }
  return text;
}

/**
 * The path must end in the version segment (specification, "Versioning"), and is compared with request targets as it
 * stands, so it may hold nothing that a client could write in two ways.
 *
 * @throws {RangeError} saying what it must be
 */
export function parseBaseUrl(text: string): BaseUrl {
  const match = /^(https?:\/\/[^/?#\s@\\]+)((?:\/[A-Za-z0-9._~-]+)*\/v1)\/?$/i.exec(text);
  const authority = match?.[1];
  const path = match?.[2];
  if (authority === undefined || path === undefined || !URL.canParse(text) || /\/\.{1,2}(?=\/)/.test(path)) {
    throw new RangeError("must be an http or https address whose path ends in /v1, such as https://example.com/v1");
  }
  if (!path.endsWith("/v1")) {
    throw new RangeError("must have a path that ends in /v1, in lower case");
  }
  return { url: authority + path, path };
}

/**
 * Origins as a browser sends them in `Origin` (RFC 6454, 6.2): scheme, host, port, no path.
 *
 * @throws {RangeError} saying which is not one
 */
export function parseOrigins(texts: readonly string[]): readonly string[] {
  const origins = texts.map((text) => text.trim());
  for (const origin of origins) {
    if (origin !== "*" && (!URL.canParse(origin) || new URL(origin).origin !== origin)) {
      throw new RangeError(`must be *, or origins such as https://example.com, without a path; "${origin}" is none`);
    }
  }
  if (origins.includes("*") && origins.length > 1) {
    throw new RangeError("must be either * or a list of origins");
  }
  return origins;
}

/** @throws {RangeError} saying what it must be */
export function checkTrustedProxyCount(count: number): number {
  return parseInteger(String(count), trustedProxyCountMax);
}

/** The folder for commands, which know only this one setting. */
export function dataDirOf(flag: string | undefined, environment: NodeJS.ProcessEnv): string {
  return flag ?? (environment[settingTable.data.variable] || defaultDataDir);
}
