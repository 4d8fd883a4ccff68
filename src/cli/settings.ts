/**
 * Every setting of the server: its flag, variable, default, bound and meaning, checked before anything starts.
 *
 * A flag wins over its variable, the variable over the default. An empty variable counts as not set.
 */

import { messageOf } from "../base/error-message.ts";
import { parseBaseUrl, parseOrigins, trustedProxyCountMax } from "../options.ts";
import type { Pair, PairPaths } from "../tls/pair.ts";
import { listenerLimits } from "../wire/listener-limits.ts";
import { maskedAddress, parseDatabaseAddress, unusedMembers } from "./database-address.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";

/** Where all data is stored: in a folder, or in a database. */
export type Storage =
  | { readonly kind: "folder"; readonly dataDir: string }
  | {
      readonly kind: "database";
      readonly address: string;
      /** The most connections. */
      readonly connectionCount: number;
      readonly cited: string;
    };

export type Row = readonly [parse: (text: string) => unknown, placeholder: string, meaning: string, fallback?: string];

/** The settings by flag, in the order of `--help`: parser, what stands for the value, meaning and default. */
export const settingRows = {
  port: [integer(0, 65_535), "PORT", "port to listen on; 0 picks a free one", "3000"],
  host: [parseText, "HOST", "address to bind", "127.0.0.1"],
  data: [parseFolder, "FOLDER", "folder for all data: keys, limits and catalogue", "data"],
  database: [
    parseDatabaseAddress,
    "URL", "in place of the folder: a PostgreSQL database, postgres://…, for any number of servers",
  ],
  "database-connections": [
    integer(1, 100), "N", "the most connections that the server opens to the database, 1 to 100", "10",
  ],
  "tls-cert": [
    parseText, "FILE", "certificates as PEM: the port speaks HTTPS; reloaded when it changes, and at SIGHUP",
  ],
  "tls-key": [parseText, "FILE", "the private key of the certificate, as PEM; reloaded with it"],
  "base-url": [parseBaseUrl, "URL", "public base address; its path ends in /v1 and is where the API is mounted"],
  "staging-base-url": [
    parseBaseUrl, "URL", "base address of the staging deployment, named in the OpenAPI description",
  ],
  "trust-proxy": [
    integer(0, trustedProxyCountMax), "COUNT", "how many proxies in front append to the header X-Forwarded-For", "0",
  ],
  "idle-seconds": [
    integer(1, 3_600), "SECONDS", "how long a connection stays open between requests, 1 to 3600",
    String(listenerLimits.idleMs / 1_000),
  ],
  "cors-origin": [
    (text) => parseOrigins(text.split(",")), "ORIGINS", "origins that browsers may call from, comma separated, or *",
  ],
  log: [
    choice("off", "lifecycle", "requests"),
    "LEVEL", "off (no warnings either), lifecycle, or requests (a line for each, too)", "lifecycle",
  ],
  console: [choice("on", "off"), "on|off", "off: the console, a page at /, is not served", "on"],
  "fast-lane": [
    choice("on", "off"), "on|off", "off: node:http reads every request, as tracing by its hooks needs", "on",
  ],
  "metrics-port": [integer(0, 65_535), "PORT", "port of the Prometheus metrics at /metrics; not served if omitted"],
  "metrics-host": [parseText, "HOST", "address to bind for the metrics", "127.0.0.1"],
} as const satisfies Readonly<Record<string, Row>>;

export type SettingName = keyof typeof settingRows;
type Value<Given extends Row> = ReturnType<Given[0]> | (Given["length"] extends 4 ? never : undefined);

export const settingNames = Object.keys(settingRows) as readonly SettingName[];

export function variableOf(flag: string): string {
  return flag === "port" ? "PORT" : `ANIMAL_STORE_${flag.toUpperCase().replaceAll("-", "_")}`;
}

export type Settings = Readonly<ReturnType<typeof allSettings>>;

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
  const given = givenSettings(values, ownVariables);
  const { cite } = given;
  const settings = allSettings(given);
  const { port, host, metricsPort, metricsHost } = settings;
  if (port !== 0 && port === metricsPort && host === metricsHost) {
    throw new UsageError(`Cannot use ${cite("metrics-port")}: it is the port of the API`);
  }
  const { storage } = settings;
  const unused = storage.kind === "database" ? unusedMembers(storage.address) : [];
  return { settings, cite, warnings: [...unknownVariables(ownVariables), ...unused] };
}

function allSettings({ read, storage, tls }: ReturnType<typeof givenSettings>) {
  return {
    port: read("port"),
    host: read("host"),
    storage: storage(),
    /** Paths of PEM files. Undefined: plain HTTP. */
    tls: tls(),
    baseUrl: read("base-url"),
    stagingBaseUrl: read("staging-base-url"),
    trustedProxyCount: read("trust-proxy"),
    idleSeconds: read("idle-seconds"),
    /** The origins as browsers send them, or "*". Empty: CORS is off. */
    corsOrigins: read("cors-origin") ?? [],
    log: read("log"),
    hasConsole: read("console") === "on",
    hasFastLane: read("fast-lane") === "on",
    metricsPort: read("metrics-port"),
    metricsHost: read("metrics-host"),
  };
}

/** Whether `log` asks for JSON lines, also if another setting is wrong. */
export function wantsJsonLines(args: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  const { values } = parseFlags(args, settingNames);
  return (values.get("log") ?? environment[variableOf("log")]) === ("requests" satisfies Settings["log"]);
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

/** Where a command finds the data. @throws {UsageError} */
export function readStorage(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv): Storage {
  return givenSettings(values, environment).storage();
}

/** The texts of flags and environment variables, before they are parsed. */
function givenSettings(values: ReadonlyMap<string, string>, environment: NodeJS.ProcessEnv) {
  /** The setting as it was given, with the password of a database masked. */
  const cite = (name: SettingName): string => {
    const [, , , fallback = ""]: Row = settingRows[name];
    const flag = values.get(name);
    const fromEnvironment = environment[variableOf(name)];
    const shown = name === "database" ? maskedAddress : (text: string): string => text;
    return flag === undefined && fromEnvironment
      ? `${variableOf(name)}=${shown(fromEnvironment)}`
      : `--${name} ${shown(flag ?? fallback)}`;
  };
  const read = <Name extends SettingName>(name: Name): Value<(typeof settingRows)[Name]> => {
    const [parse, , , fallback]: Row = settingRows[name];
    const text = values.get(name) ?? (environment[variableOf(name)] || fallback);
    try {
      const value = text === undefined ? undefined : parse(requirePlain(text));
      return value as Value<(typeof settingRows)[Name]>; // The compiler cannot follow which row it is.
    } catch (error) {
      throw new UsageError(`Cannot use ${cite(name)}: ${messageOf(error)}`);
    }
  };
  const storage = (): Storage => {
    const [address, connectionCount] = [read("database"), read("database-connections")];
    if (address === undefined) {
      return { kind: "folder", dataDir: read("data") };
    }
    const cited = cite("database");
    if (values.has("data") || environment[variableOf("data")]) {
      throw new UsageError(`Cannot use ${cited} together with ${cite("data")}: unset one, or empty its variable`);
    }
    return { kind: "database", address, connectionCount, cited };
  };
  const tls = (): PairPaths | undefined => {
    const [cert, key] = [read("tls-cert"), read("tls-key")];
    if ((cert === undefined) !== (key === undefined)) {
      const given = key === undefined ? "tls-cert" : "tls-key";
      throw new UsageError(`Cannot use ${cite(given)}: must come with --tls-${key === undefined ? "key" : "cert"}`);
    }
    return cert === undefined || key === undefined ? undefined : { cert, key };
  };
  return { cite, read, storage, tls };
}

/**
 * The environment without what Kubernetes adds for each Service of the namespace: `ANIMAL_STORE_METRICS_PORT=tcp://…`
 * and others for one that is named animal-store-metrics.
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
  const known = settingNames.map(variableOf);
  return Object.keys(environment)
    .filter((name) => name.startsWith("ANIMAL_STORE_") && !known.includes(name))
    .map((name) => `the variable ${name} is not a setting; --help lists all settings`);
}

function integer(min: number, max: number) {
  return (text: string): number => {
    if (!/^(0|[1-9][0-9]{0,9})$/.test(text) || Number(text) < min || Number(text) > max) {
      throw new RangeError(`must be an integer from ${min} to ${max}`);
    }
    return Number(text);
  };
}

/** Files of variables (`docker run --env-file`) keep quotation marks, blanks, and a CR at the end of the line. */
export function requirePlain(text: string): string {
  if (/^["'\s]|["'\s]$|\p{Cc}/u.test(text)) {
    throw new RangeError("must not begin or end with a quotation mark or a blank, or hold a control character");
  }
  return text;
}

/**
 * The name of a folder. A shell, a unit or a template would have expanded what is refused here; unexpanded, each would
 * name a new and empty folder.
 * @throws {RangeError}
 */
export function parseFolder(text: string): string {
  if (/^[~%]|\$|\{\{|:\/\//.test(text)) {
    throw new RangeError("must be the folder itself: ~, %, $, {{ and :// are not expanded here");
  }
  if (text.includes("\ufffd")) { // By which Node replaces what is not UTF-8.
    throw new RangeError("must be a name in UTF-8");
  }
  return parseText(text);
}

function parseText(text: string): string {
  if (text.trim() === "") {
    throw new RangeError("must not be empty");
  }
  return text;
}

function choice<const Choice extends string>(...choices: readonly Choice[]) {
  return (text: string): Choice => {
    const chosen = choices.find((one) => one === text);
    if (chosen === undefined) {
      throw new RangeError(`must be ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`);
    }
    return chosen;
  };
}
