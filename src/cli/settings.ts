/**
 * Every setting of the server: its flag, variable, default, bound and meaning, checked before anything starts.
 *
 * A flag wins over its variable, the variable over the default. An empty variable counts as not set.
 */

import { messageOf } from "../base/error-message.ts";
import { parseBaseUrl, parseOrigins, trustedProxyCountMax } from "../options.ts";
import { maskedAddress, parseDatabaseAddress } from "./database-address.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { unknownVariables } from "./unknown-variables.ts";

export type LogLevel = "off" | "lifecycle" | "requests";

/** Where everything is kept: in a folder, or in a database. */
export type Storage =
  | { readonly kind: "folder"; readonly dataDir: string }
  | { readonly kind: "database"; readonly address: string; readonly cited: string };

export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly storage: Storage;
  readonly baseUrl: string | undefined;
  readonly stagingBaseUrl: string | undefined;
  readonly trustedProxyCount: number;
  /** Origins as browsers send them, or "*". Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  readonly log: LogLevel;
  /** Whether the console is served. */
  readonly hasConsole: boolean;
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
}

interface Setting {
  readonly variable: string;
  readonly placeholder: string;
  readonly fallback: string | undefined;
  readonly meaning: string;
}

/** By flag, in the order of `--help`. */
const table = {
  port: { variable: "PORT", placeholder: "PORT", fallback: "3000", meaning: "port to listen on; 0 picks a free one" },
  host: { variable: "ANIMAL_STORE_HOST", placeholder: "HOST", fallback: "127.0.0.1", meaning: "address to bind" },
  data: {
    variable: "ANIMAL_STORE_DATA",
    placeholder: "FOLDER",
    fallback: "data",
    meaning: "folder of keys, limits and catalogue",
  },
  database: {
    variable: "ANIMAL_STORE_DATABASE",
    placeholder: "URL",
    fallback: undefined,
    meaning: "in place of the folder: a PostgreSQL database, postgres://…, for any number of servers",
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
    meaning: "off (no warnings either), lifecycle, or requests (also a JSON line for each request), on stderr",
  },
  console: {
    variable: "ANIMAL_STORE_CONSOLE",
    placeholder: "on|off",
    fallback: "on",
    meaning: "off: the console, a page at /, is not served",
  },
  "metrics-port": {
    variable: "ANIMAL_STORE_METRICS_PORT",
    placeholder: "PORT",
    fallback: undefined,
    meaning: "port of the Prometheus metrics at /metrics; not served if omitted",
  },
  "metrics-host": {
    variable: "ANIMAL_STORE_METRICS_HOST",
    placeholder: "HOST",
    fallback: "127.0.0.1",
    meaning: "address to bind for the metrics",
  },
};

export type SettingName = keyof typeof table;

export const settingTable: Readonly<Record<SettingName, Setting>> = table;

export const settingNames = Object.keys(settingTable) as SettingName[]; // Object.keys() forgets the type of its keys.
const knownVariables = settingNames.map((name) => settingTable[name].variable);

export interface SettingsRead {
  readonly settings: Settings;
  /** The setting as the operator gave it, for errors found later: `--port 80`, `PORT=80`. */
  readonly cite: (name: SettingName) => string;
  /** One for each variable that looks like a setting and is none. */
  readonly warnings: readonly string[];
}

/**
 * @param args flags of the server, without the program's name
 * @throws {UsageError} one line that names the setting, as the flag or the variable it came from, and the value
 */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): SettingsRead {
  const { values, operands: [word] } = parseFlags(args, settingNames);
  if (word !== undefined) {
    const reason = word === args[0] ? "no such command" : "a command comes before all flags";
    throw new UsageError(`Cannot use "${word}": ${reason}; see --help`);
  }
  const given = new GivenSettings(values, environment);
  const settings: Settings = {
    port: given.readRequired("port", parsePort),
    host: given.readRequired("host", parseText),
    storage: given.readStorage(),
    baseUrl: given.read("base-url", parseBaseUrl),
    stagingBaseUrl: given.read("staging-base-url", parseBaseUrl),
    trustedProxyCount: given.readRequired("trust-proxy", (text) => parseInteger(text, trustedProxyCountMax)),
    corsOrigins: given.read("cors-origin", (text) => parseOrigins(text.split(","))) ?? [],
    log: given.readRequired("log", (text) => parseChoice(text, ["off", "lifecycle", "requests"])),
    hasConsole: given.readRequired("console", (text) => parseChoice(text, ["on", "off"])) === "on",
    metricsPort: given.read("metrics-port", parsePort),
    metricsHost: given.readRequired("metrics-host", parseText),
  };
  const { port, host, metricsPort, metricsHost } = settings;
  if (port !== 0 && port === metricsPort && host === metricsHost) {
    throw new UsageError(`Cannot use ${given.cite("metrics-port")}: it is the port of the API`);
  }
  return { settings, cite: (name) => given.cite(name), warnings: unknownVariables(environment, knownVariables) };
}

/** Whether `log` asks for JSON lines, also if another setting is wrong. */
export function wantsJsonLines(args: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  const { values } = parseFlags(args, settingNames);
  return (values.get("log") ?? environment[settingTable.log.variable]) === ("requests" satisfies LogLevel);
}

/** Where a command finds what is kept. @throws {UsageError} */
export function readStorage(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv): Storage {
  return new GivenSettings(values, environment).readStorage();
}

/** The texts of flags and environment variables, before they are parsed. */
class GivenSettings {
  readonly #values: ReadonlyMap<string, string>;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv) {
    this.#values = values;
    this.#environment = environment;
  }

  /** Without the password of a database. */
  cite(name: SettingName): string {
    const { variable, fallback } = settingTable[name];
    const shown = name === "database" ? maskedAddress : (text: string): string => text;
    const flag = this.#values.get(name);
    const fromEnvironment = this.#environment[variable];
    return flag === undefined && fromEnvironment
      ? `${variable}=${shown(fromEnvironment)}`
      : `--${name} ${shown(flag ?? fallback ?? "")}`;
  }

  readStorage(): Storage {
    const address = this.read("database", parseDatabaseAddress);
    if (address === undefined) {
      return { kind: "folder", dataDir: this.readRequired("data", parseText) };
    }
    const cited = this.cite("database");
    if (this.#values.has("data") || this.#environment[settingTable.data.variable]) {
      throw new UsageError(`Cannot use ${cited} together with ${this.cite("data")}: unset one, or empty its variable`);
    }
    return { kind: "database", address, cited };
  }

  /** Returns undefined if the setting is not given and has no default. */
  read<Value>(name: SettingName, parse: (text: string) => Value): Value | undefined {
    const { variable, fallback } = settingTable[name];
    const text = this.#values.get(name) ?? (this.#environment[variable] || fallback);
    try {
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      throw new UsageError(`Cannot use ${this.cite(name)}: ${messageOf(error)}`);
    }
  }

  readRequired<Value>(name: SettingName, parse: (text: string) => Value): Value {
    return this.read(name, parse)!; // It has a default.
  }
}

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
    throw new RangeError("must not be empty or hold a NUL character");
  }
  return text;
}

function parseChoice<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === text);
  if (choice === undefined) {
    throw new RangeError(`must be ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`);
  }
  return choice;
}
