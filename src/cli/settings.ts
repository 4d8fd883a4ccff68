/**
 * Every setting of the server: its flag, variable, default, bound and meaning, checked before anything starts.
 *
 * A flag wins over its variable, the variable over the default. An empty variable counts as not set.
 */

import { messageOf } from "../base/error-message.ts";
import { parseBaseUrl, parseOrigins, trustedProxyCountMax } from "../options.ts";
import type { Pair, PairPaths } from "../tls/pair.ts";
import { maskedAddress, parseDatabaseAddress } from "./database-address.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";

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
  readonly idleSeconds: number;
  /** Origins as browsers send them, or "*". Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  readonly log: "off" | "lifecycle" | "requests";
  /** Paths of PEM files. Undefined: plain HTTP. */
  readonly tls: PairPaths | undefined;
  readonly hasConsole: boolean;
  readonly hasFastLane: boolean;
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
}

interface Setting {
  readonly variable: string;
  readonly placeholder: string;
  readonly meaning: string;
  readonly fallback: string | undefined;
}

export type SettingName =
  | ("port" | "host" | "data" | "database" | "base-url" | "staging-base-url" | "trust-proxy" | "cors-origin")
  | ("tls-cert" | "tls-key" | "idle-seconds" | "log" | "console" | "fast-lane" | "metrics-port" | "metrics-host");

type Row = readonly [placeholder: string, meaning: string, fallback?: string];

/** By flag, in the order of `--help`: what stands for the value, what it means, and the default if there is one. */
const table: Readonly<Record<SettingName, Row>> = {
  port: ["PORT", "port to listen on; 0 picks a free one", "3000"],
  host: ["HOST", "address to bind", "127.0.0.1"],
  data: ["FOLDER", "folder for all data: keys, limits and catalogue", "data"],
  database: ["URL", "in place of the folder: a PostgreSQL database, postgres://…, for any number of servers"],
  "tls-cert": ["FILE", "certificates as PEM: the port speaks HTTPS; reloaded when it changes, and at SIGHUP"],
  "tls-key": ["FILE", "the private key of the certificate, as PEM; reloaded with it"],
  "base-url": ["URL", "public base address; its path ends in /v1 and is where the API is mounted"],
  "staging-base-url": ["URL", "base address of the staging deployment, named in the OpenAPI description"],
  "trust-proxy": ["COUNT", "how many proxies in front append to the header X-Forwarded-For", "0"],
  "idle-seconds": ["SECONDS", "how long a connection stays open between requests, 1 to 3600", "75"],
  "cors-origin": ["ORIGINS", "origins that browsers may call from, comma separated, or *"],
  log: ["LEVEL", "off (no warnings either), lifecycle, or requests (a line for each, too)", "lifecycle"],
  console: ["on|off", "off: the console, a page at /, is not served", "on"],
  "fast-lane": ["on|off", "off: node:http reads every request, as tracing by its hooks needs", "on"],
  "metrics-port": ["PORT", "port of the Prometheus metrics at /metrics; not served if omitted"],
  "metrics-host": ["HOST", "address to bind for the metrics", "127.0.0.1"],
};

export const settingTable: Readonly<Record<SettingName, Setting>> = Object.fromEntries(
  Object.entries(table).map(([flag, [placeholder, meaning, fallback]]) => {
    const variable = flag === "port" ? "PORT" : `ANIMAL_STORE_${flag.toUpperCase().replaceAll("-", "_")}`;
    return [flag, { variable, placeholder, meaning, fallback }];
  }),
) as Record<SettingName, Setting>; // Object.fromEntries() and Object.keys() forget the type of the keys.

export const settingNames: readonly SettingName[] = Object.keys(table) as SettingName[];

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
  const ownVariables = withoutServices(environment);
  const { cite, read, readRequired, storage, tls } = givenSettings(values, ownVariables);
  const settings: Settings = {
    port: readRequired("port", parsePort),
    host: readRequired("host", parseText),
    storage: storage(),
    tls: tls(),
    baseUrl: read("base-url", parseBaseUrl),
    stagingBaseUrl: read("staging-base-url", parseBaseUrl),
    trustedProxyCount: readRequired("trust-proxy", (text) => parseInteger(text, { max: trustedProxyCountMax })),
    idleSeconds: readRequired("idle-seconds", (text) => parseInteger(text, { min: 1, max: 3_600 })),
    corsOrigins: read("cors-origin", (text) => parseOrigins(text.split(","))) ?? [],
    log: readRequired("log", (text) => parseChoice(text, ["off", "lifecycle", "requests"])),
    hasConsole: readRequired("console", (text) => parseChoice(text, ["on", "off"])) === "on",
    hasFastLane: readRequired("fast-lane", (text) => parseChoice(text, ["on", "off"])) === "on",
    metricsPort: read("metrics-port", parsePort),
    metricsHost: readRequired("metrics-host", parseText),
  };
  const { port, host, metricsPort, metricsHost } = settings;
  if (port !== 0 && port === metricsPort && host === metricsHost) {
    throw new UsageError(`Cannot use ${cite("metrics-port")}: it is the port of the API`);
  }
  return { settings, cite, warnings: unknownVariables(ownVariables) };
}

/** Whether `log` asks for JSON lines, also if another setting is wrong. */
export function wantsJsonLines(args: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  const { values } = parseFlags(args, settingNames);
  return (values.get("log") ?? environment[settingTable.log.variable]) === ("requests" satisfies Settings["log"]);
}

/** What HTTPS needs is loaded only if it is asked for. @throws {UsageError} the pair cannot be used */
export async function readCertificate({ settings: { tls }, cite }: SettingsRead): Promise<Pair | undefined> {
  if (tls === undefined) {
    return undefined;
  }
  const { readPair } = await import("../tls/pair.ts");
  try {
    return await readPair(tls);
  } catch (error) {
    throw new UsageError(`Cannot use ${cite("tls-cert")} with ${cite("tls-key")}: ${messageOf(error)}`);
  }
}

/** Where a command finds what is kept. @throws {UsageError} */
export function readStorage(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv): Storage {
  return givenSettings(values, environment).storage();
}

/** The texts of flags and environment variables, before they are parsed. */
function givenSettings(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv) {
  /** Without the password of a database. */
  const cite = (name: SettingName): string => {
    const { variable, fallback } = settingTable[name];
    const flag = values.get(name);
    const fromEnvironment = environment[variable];
    const shown = name === "database" ? maskedAddress : (text: string): string => text;
    return flag === undefined && fromEnvironment
      ? `${variable}=${shown(fromEnvironment)}`
      : `--${name} ${shown(flag ?? fallback ?? "")}`;
  };
  /** Returns undefined if the setting is not given and has no default. */
  const read = <Value>(name: SettingName, parse: (text: string) => Value): Value | undefined => {
    const { variable, fallback } = settingTable[name];
    const text = values.get(name) ?? (environment[variable] || fallback);
    try {
      return text === undefined ? undefined : parse(requirePlain(text));
    } catch (error) {
      throw new UsageError(`Cannot use ${cite(name)}: ${messageOf(error)}`);
    }
  };
  const readRequired = <Value>(name: SettingName, parse: (text: string) => Value): Value => read(name, parse)!;
  const storage = (): Storage => {
    const address = read("database", parseDatabaseAddress);
    if (address === undefined) {
      return { kind: "folder", dataDir: readRequired("data", parseFolder) };
    }
    const cited = cite("database");
    if (values.has("data") || environment[settingTable.data.variable]) {
      throw new UsageError(`Cannot use ${cited} together with ${cite("data")}: unset one, or empty its variable`);
    }
    return { kind: "database", address, cited };
  };
  const tls = (): Settings["tls"] => {
    const [cert, key] = [read("tls-cert", parseText), read("tls-key", parseText)];
    if ((cert === undefined) !== (key === undefined)) {
      const given = key === undefined ? "tls-cert" : "tls-key";
      throw new UsageError(`Cannot use ${cite(given)}: must come with --tls-${key === undefined ? "key" : "cert"}`);
    }
    return cert === undefined || key === undefined ? undefined : { cert, key };
  };
  return { cite, read, readRequired, storage, tls };
}

/**
 * Without what Kubernetes adds for each Service of the namespace: `ANIMAL_STORE_METRICS_PORT=tcp://…` and others for
 * one that is named animal-store-metrics.
 */
function withoutServices(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const services = Object.keys(environment).flatMap((name) => /^.*(?=_SERVICE_HOST$)/.exec(name) ?? []);
  const isOwn = ([name, text]: readonly [string, string | undefined]): boolean =>
    !services.some(
      (service) =>
        name.startsWith(`${service}_`) &&
        /^(?:SERVICE_(?:HOST|PORT)|PORT_\d|PORT=\w+:\/\/)/.test(`${name}=${text}`.slice(service.length + 1)),
    );
  return Object.fromEntries(Object.entries(environment).filter(isOwn));
}

/** A misspelt variable would otherwise be ignored without a word. Returns a warning for each. */
function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = settingNames.map((name) => settingTable[name].variable);
  return Object.keys(environment)
    .filter((name) => name.startsWith("ANIMAL_STORE_") && !known.includes(name))
    .map((name) => `the variable ${name} is not a setting; --help lists all settings`);
}

const parsePort = (text: string): number => parseInteger(text, { max: 65_535 });

function parseInteger(text: string, { min = 0, max }: { readonly min?: number; readonly max: number }): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(text) || Number(text) < min || Number(text) > max) {
    throw new RangeError(`must be an integer from ${min} to ${max}`);
  }
  return Number(text);
}

/** Files of variables (`docker run --env-file`) keep quotation marks, and a CR at the end of the line. */
function requirePlain(text: string): string {
  if (/^["']|["']$|\p{Cc}/u.test(text)) {
    throw new RangeError("must not begin or end with a quotation mark, or hold a control character");
  }
  return text;
}

/**
 * The name of a folder. Elsewhere a shell, a unit or a template would have expanded these: here each would be a new
 * folder, and empty.
 * @throws {RangeError}
 */
export function parseFolder(text: string): string {
  if (/^[~%]|\$|\{\{|:\/\//.test(text)) {
    throw new RangeError("must be the folder itself: ~, %, $, {{ and :// are not expanded here");
  }
  return parseText(text);
}

function parseText(text: string): string {
  if (text.trim() === "") {
    throw new RangeError("must not be empty");
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
