/** The server: opens the service, listens, and stops cleanly. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { resolve } from "node:path";
import type { Server as TlsServer } from "node:tls";

import { bounds } from "../base/bounds.ts";
import { systemClock, throttle } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { oneLine } from "../base/redact-secrets.ts";
import type { Report } from "../base/report.ts";
import { livePage } from "../http/public-page.ts";
import { KeyError } from "../keys/key.ts";
import type { Observers } from "../observe/observers.ts";
import { type AnimalStoreOptions, checkOptions } from "../options.ts";
import { openService, type Service } from "../service.ts";
import { DamagedLogError } from "../store/json-lines-pet-store.ts";
import type { TlsWatch } from "../tls/watch.ts";
import { listenerLimits } from "../wire/listener-limits.ts";
import { faultOfNode } from "../wire/node-internals.ts";
import { Listener } from "../wire/listener.ts";
import { keepTickShape } from "../wire/tick-shape.ts";
import { consolePages } from "./console-pages.ts";
import { maskedAddress } from "./database-address.ts";
import { showFirstKey } from "./first-start.ts";
import { UsageError } from "./parse-flags.ts";
import { readCertificate, readSettings, type Settings, type SettingsRead, wantsJsonLines } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** What a start is asked to do, and where it reports. */
interface Asked extends SettingsRead {
  readonly terminal: Terminal;
  readonly report: Report;
  readonly stopping: AbortSignal;
}

/** What runs once the service is open. */
interface Running {
  readonly service: Service;
  readonly listener: Listener;
  readonly observers: Observers | undefined;
  readonly metricsServer: HttpServer | undefined;
  readonly tls: TlsWatch | undefined;
}

/**
 * Serves until `stopping` is aborted, then finishes the requests under way. Resolves when everything is on disk. An
 * abort during the start ends it early, and no key is made or printed.
 * @throws {UsageError} a setting is wrong, or cannot be used on this machine
 * @throws {Error} a file is damaged, or the console is not built
 */
export async function serve(args: readonly string[], terminal: Terminal, stopping: AbortSignal): Promise<void> {
  if (wantsJsonLines(args, terminal.environment)) {
    terminal.reportAsJson();
  }
  const read = readSettings(args, terminal.environment);
  const { storage, log } = read.settings;
  const asked: Asked = { ...read, terminal, report: log === "off" ? () => undefined : terminal.report, stopping };
  const restore = reportWarnings(asked.report);
  try {
    if (storage.kind === "folder") {
      return await serveFrom({ dataDir: storage.dataDir }, asked);
    }
    const { withPool } = await import("./database.ts");
    return await withPool(storage, (database) => serveFrom({ database }, asked));
  } finally {
    restore();
  }
}

/** Node prints warnings of its own and of packages as text; here they are lines of the log. Returns what undoes it. */
function reportWarnings(report: Report): () => void {
  const print = process.listeners("warning").find(({ name }) => name === "onWarning"); // None with --no-warnings.
  if (print === undefined) {
    return () => undefined;
  }
  const tell = ({ name, message }: Error): void => report(oneLine(`${name}: ${message}`), "warning");
  process.off("warning", print).on("warning", tell);
  return () => void process.off("warning", tell).on("warning", print);
}

type Kept = Pick<AnimalStoreOptions, "dataDir" | "database">;

async function serveFrom(kept: Kept, asked: Asked): Promise<void> {
  const { report, stopping } = asked;
  try {
    const running = await begin(kept, asked);
    try {
      await openPorts(running, asked);
      if (!stopping.aborted) {
        await once(stopping, "abort");
      }
      report("stopping: finishing the requests under way");
    } finally {
      await end(running);
    }
    report("stopped");
  } catch (error) {
    if (!isAbort(error)) {
      throw error;
    }
  }
}

async function begin(kept: Kept, asked: Asked): Promise<Running> {
  const { settings, warnings, report, stopping } = asked;
  const { baseUrl, stagingBaseUrl, trustedProxyCount: trustProxy, corsOrigins } = settings;
  const options = checkOptions({ ...kept, baseUrl, stagingBaseUrl, trustProxy, corsOrigins, report });
  warnings.forEach((warning) => report(warning, "warning"));
  // Its disk may hang, and the signal must end the start all the same.
  const pair = await Promise.race([readCertificate(asked), rejectAtAbort(stopping)]);
  const observers = await makeObservers(asked);
  keepTickShape();
  const publicPages = [livePage, ...(settings.hasConsole ? consolePages() : [])];
  const opening = openService(options, { signal: stopping, publicPages, observers });
  const service = await opening.catch((error: unknown) => failStart(error, asked));
  const limits = { ...listenerLimits, idleMs: settings.idleSeconds * 1_000 };
  const laneFault = faultOfNode();
  if (laneFault !== undefined && settings.hasFastLane) {
    report(`the fast lane is off: ${laneFault}`, "warning");
  }
  const hasFastLane = settings.hasFastLane && laneFault === undefined;
  const listener = new Listener(service.pipeline, { limits, certificate: pair?.context, hasFastLane });
  const server = listener.server as TlsServer; // With a pair it is one.
  const tls = pair && new (await import("../tls/watch.ts")).TlsWatch(server, pair, systemClock, report);
  // By SIGHUP certbot and others say that the certificate has changed.
  const noEffect = (): void => report("SIGHUP has no effect: there is nothing to read again");
  stopping.addEventListener("hangup", tls === undefined ? noEffect : () => void tls.check(true));
  const metrics = observers?.metrics;
  let metricsServer: HttpServer | undefined;
  if (metrics !== undefined) {
    const { createMetricsListener } = await import("../wire/metrics-listener.ts"); // Loaded only if it is turned on.
    metricsServer = createMetricsListener(() => metrics.expose({ ...service.gauges, ...tls?.gauges }));
  }
  listener.server.maxConnections = connectionsMax(metricsServer?.maxConnections ?? 0);
  return { service, listener, observers, metricsServer, tls };
}

async function rejectAtAbort(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  await once(signal, "abort");
  throw signal.reason;
}

/** The observers, which are loaded only if they are turned on. */
async function makeObservers({ settings, terminal }: Asked): Promise<Observers | undefined> {
  const hasMetrics = settings.metricsPort !== undefined;
  const writeRequests = settings.log === "requests" ? terminal.stderr : undefined;
  if (!hasMetrics && writeRequests === undefined) {
    return undefined;
  }
  const { Observers } = await import("../observe/observers.ts");
  return new Observers({ clock: systemClock, hasMetrics, writeRequests });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Throws the error of a start. Unless it is damage or an abort, it says why the folder or database is unusable. */
function failStart(error: unknown, { settings, cite }: Asked): never {
  if (isAbort(error)) {
    throw error;
  }
  if (error instanceof DamagedLogError || error instanceof KeyError) {
    throw new Error(`${error.message}; see check --help`, { cause: error });
  }
  const name = settings.storage.kind === "folder" ? "data" : "database";
  throw new UsageError(`Cannot use ${cite(name)}: ${messageOf(error)}`);
}

/** The metrics port first: a start that fails because that port is taken never opens the port of the API. */
async function openPorts({ service, listener, metricsServer, tls }: Running, asked: Asked): Promise<void> {
  const { settings, terminal, report, stopping } = asked;
  const { port, host, metricsPort, metricsHost } = settings;
  const fail = (error: unknown): never => failStart(error, asked);
  let metricsUrl: string | undefined;
  if (metricsServer !== undefined && metricsPort !== undefined) {
    const opened = await listen(metricsServer, { port: metricsPort, host: metricsHost, prefix: "metrics-" }, asked);
    metricsUrl = `http://${hostInUrl(metricsHost)}:${opened}/metrics`;
  }
  const opened = await listen(listener.server, { port, host, prefix: "" }, asked);
  stopping.throwIfAborted();
  if (metricsUrl !== undefined) {
    report(`metrics on ${metricsUrl}`); // Not earlier: a start that fails writes one line, its error.
  }
  tls?.tell();
  warnOfClearText(settings, report);
  const scheme = tls === undefined ? "http" : "https";
  const reachedHost = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  await showFirstKey(service, `${scheme}://${hostInUrl(reachedHost)}:${opened}`, asked).catch(fail);
  const url = `${scheme}://${hostInUrl(host)}:${opened}${service.options.basePath}`;
  terminal.stdout(`listening on ${url} (${await whatIsServed(service, settings)})\n`);
}

async function end({ service, listener, observers, metricsServer, tls }: Running): Promise<void> {
  tls?.stop();
  service.beginStopping();
  await listener.stop(bounds.stopMs);
  metricsServer?.closeAllConnections();
  metricsServer?.close();
  // Last, so that nothing else keeps the process running if it fails. Meanwhile the requests that were cut off end.
  await service.close().finally(() => observers?.flush());
}

/** An operator who has mistyped the folder sees it here: a new one, and no animals. */
async function whatIsServed(service: Service, { storage }: Settings): Promise<string> {
  const place = storage.kind === "folder" ? `folder ${resolve(storage.dataDir)}` : maskedAddress(storage.address);
  const { keys } = service.engine;
  const animalCount = await service.engine.countAnimals();
  const isNew = storage.kind === "folder" && !keys.exists && animalCount === 0;
  const made = isNew ? ["made just now"] : [];
  const animals = animalCount === undefined ? [] : [pluralize(animalCount, "animal")];
  return [place, ...made, ...animals, keys.keyring.countInWords()].join(", ");
}

/** An address, and the prefix of the names of its settings. */
type Address = Pick<Settings, "port" | "host"> & { readonly prefix: "" | "metrics-" };

/** The least time between two warnings that a port accepts no more connections. */
const warnMs = 3_600_000;

/** Resolves to the port. @throws {UsageError} the address is taken, or not one of this machine */
function listen(server: Server, address: Address, { cite, report }: Asked): Promise<number> {
  const { port, host, prefix } = address;
  return new Promise((resolve, reject) => {
    // There may be thousands: one for each connection that was not accepted.
    const warn = throttle(systemClock, warnMs, (reason: string) => {
      report(`some connections to port ${portOf(server)} cannot be accepted: ${reason}`, "warning");
    });
    server.on("drop", () => warn(`${server.maxConnections} are open, which is the most`));
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (!server.listening) {
        const name = error.code === "EADDRINUSE" || error.code === "EACCES" ? "port" : "host";
        reject(new UsageError(`Cannot use ${cite(`${prefix}${name}`)}: ${error.message}`));
      } else {
        warn(error.message);
      }
    });
    server.listen({ port, host, backlog: 4_096 }, () => resolve(portOf(server)));
  });
}

/** A server that listens on a port has an address with one. */
function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function warnOfClearText({ host, baseUrl, tls }: Settings, report: Report): void {
  const isLoopback = host === "localhost" || host === "::1" || /^127\.[\d.]+$/.test(host);
  if (tls === undefined && !isLoopback && !baseUrl?.startsWith("https:")) {
    const advice = "set --tls-cert and --tls-key, or put a TLS proxy in front and set --base-url https://…/v1";
    report(`API keys travel unencrypted to ${host}; ${advice}`, "warning");
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Descriptors for files, the lock, a database, and sockets that listen. */
const otherDescriptors = 64;
/** At least so many connections, even where the limit of open files leaves fewer. */
const connectionsMin = 16;

/**
 * How many connections may be open, so that keys and limits can still be read and saved. A further one is closed at
 * once, and `listen` reports that. Call it once, at the start.
 * @param metricsConnectionsMax how many of the port of metrics may be open beside them
 */
function connectionsMax(metricsConnectionsMax: number): number {
  return Math.max(openFilesMax() - otherDescriptors - metricsConnectionsMax, connectionsMin);
}

/** What is used of Node's report. Windows has no such limit. */
type NodeReport = { readonly userLimits?: { readonly open_files: { readonly soft: number | string } } };

/** `RLIMIT_NOFILE`, which Node has raised as far as it may; Infinity if there is none. */
function openFilesMax(): number {
  const soft = softLimitOnLinux() ?? (process.report.getReport() as NodeReport).userLimits?.open_files.soft;
  const limit = Number(soft ?? NaN);
  return Number.isNaN(limit) ? Infinity : limit; // "unlimited"
}

/** From /proc, since a report takes 10 ms. Undefined on other systems, and where Node's permissions forbid it. */
function softLimitOnLinux(): string | undefined {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  } catch {
    return undefined;
  }
}
