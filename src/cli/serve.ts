/** The server: opens the service, listens, and stops cleanly. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import type { Server as TlsServer } from "node:tls";

import { systemClock } from "../base/clock.ts";
import { counted } from "../base/counted.ts";
import { messageOf } from "../base/error-message.ts";
import { bounds } from "../base/bounds.ts";
import { listenerLimits } from "../wire/listener-limits.ts";
import { Listener } from "../wire/listener.ts";
import { createMetricsListener } from "../wire/metrics-listener.ts";
import { keepTickShape } from "../wire/tick-shape.ts";
import { KeyError } from "../keys/key.ts";
import type { Observers } from "../observe/observers.ts";
import { type AnimalStoreOptions, type CheckedOptions, checkOptions } from "../options.ts";
import { openService, type Service } from "../service.ts";
import { DamagedLogError } from "../store/json-lines-pet-store.ts";
import { type Certificate, readPair, type Renewal, renewCertificate } from "./certificate.ts";
import { connectionsMax } from "./connections-max.ts";
import { consolePages } from "./console-pages.ts";
import { maskedAddress } from "./database-address.ts";
import { mustHaveRoom, showFirstKey } from "./first-start.ts";
import { UsageError } from "./parse-flags.ts";
import { readSettings, type Settings, type SettingsRead, wantsJsonLines } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

interface Start extends SettingsRead {
  readonly terminal: Terminal;
  readonly options: CheckedOptions;
  readonly observers: Observers | undefined;
  readonly certificate: Certificate | undefined;
  readonly stopping: AbortSignal;
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
  const { storage } = read.settings;
  if (storage.kind === "folder") {
    return serveFrom({ dataDir: storage.dataDir }, read, terminal, stopping);
  }
  const { withPool } = await import("./database.ts");
  return withPool(storage, (database) => serveFrom({ database }, read, terminal, stopping));
}

type Kept = Pick<AnimalStoreOptions, "dataDir" | "database">;

async function serveFrom(kept: Kept, read: SettingsRead, terminal: Terminal, stopping: AbortSignal): Promise<void> {
  const { settings, warnings } = read;
  const options = checkOptions({
    ...kept,
    baseUrl: settings.baseUrl,
    stagingBaseUrl: settings.stagingBaseUrl,
    trustProxy: settings.trustedProxyCount,
    corsOrigins: settings.corsOrigins,
    report: settings.log === "off" ? () => undefined : terminal.report,
  });
  warnings.forEach((warning) => options.report(warning, "warning"));
  const certificate = readPair(read);
  const observers = await makeObservers(settings, terminal);
  const start: Start = { ...read, terminal, options, observers, certificate, stopping };
  keepTickShape();
  const publicPages = settings.hasConsole ? consolePages() : [];
  try {
    const opening = openService(options, { signal: stopping, publicPages, observers });
    await listenUntilStopped(await opening.catch((error: unknown) => failStart(error, start)), start);
    options.report("stopped");
  } catch (error) {
    if (!isAbort(error)) {
      throw error;
    }
  }
}

/** Loaded only if they are turned on. */
async function makeObservers({ metricsPort, log }: Settings, { stderr }: Terminal): Promise<Observers | undefined> {
  const hasMetrics = metricsPort !== undefined;
  const writeRequests = log === "requests" ? stderr : undefined;
  if (!hasMetrics && writeRequests === undefined) {
    return undefined;
  }
  const { Observers } = await import("../observe/observers.ts");
  return new Observers({ clock: systemClock, hasMetrics, writeRequests });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Besides damage, and the end of a start that is stopped, every error says why the folder or database is unusable. */
function failStart(error: unknown, { settings, cite }: Start): never {
  if (isAbort(error)) {
    throw error;
  }
  if (error instanceof DamagedLogError || error instanceof KeyError) {
    throw new Error(`${error.message}; see check --help`, { cause: error });
  }
  const name = settings.storage.kind === "folder" ? "data" : "database";
  throw new UsageError(`Cannot use ${cite(name)}: ${messageOf(error)}`);
}

/** Opens the metrics port first: a start that fails because that port is taken never opens the port of the API. */
async function listenUntilStopped(service: Service, start: Start): Promise<void> {
  const { settings, observers, certificate, stopping, options: { report } } = start;
  const limits = { ...listenerLimits, idleMs: settings.idleSeconds * 1_000 };
  const listener = new Listener(service.pipeline, { limits, certificate, hasFastLane: settings.hasFastLane });
  const scheme = certificate === undefined ? "http" : "https";
  const metrics = observers?.metrics;
  const metricsServer = metrics && createMetricsListener({
    contentType: metrics.contentType,
    content: () => service.metrics(),
  });
  const renewal = keepCertificate(listener.server, start);
  listener.server.maxConnections = connectionsMax(metricsServer?.maxConnections ?? 0);
  try {
    const fail = (error: unknown): never => failStart(error, start);
    await mustHaveRoom(service, settings).catch(fail);
    const { port, host, metricsPort, metricsHost } = settings;
    let metricsUrl: string | undefined;
    if (metricsServer !== undefined && metricsPort !== undefined) {
      const opened = await listen(metricsServer, { port: metricsPort, host: metricsHost, prefix: "metrics-" }, start);
      metricsUrl = `http://${hostInUrl(metricsHost)}:${opened}/metrics`;
    }
    const opened = await listen(listener.server, { port, host, prefix: "" }, start);
    stopping.throwIfAborted();
    if (metricsUrl !== undefined) {
      report(`metrics on ${metricsUrl}`); // Not earlier: a start that fails writes one line, its error.
    }
    warnOfClearText(start);
    const reachedHost = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    await showFirstKey(service, `${scheme}://${hostInUrl(reachedHost)}:${opened}`, start).catch(fail);
    const url = `${scheme}://${hostInUrl(host)}:${opened}${service.options.basePath}`;
    start.terminal.stdout(`listening on ${url} (${await whatIsServed(service, settings)})\n`);
    if (!stopping.aborted) {
      await once(stopping, "abort");
    }
    report("stopping: finishing the requests under way");
  } finally {
    renewal?.stop();
    service.beginStopping();
    await listener.stop(bounds.stopMs);
    metricsServer?.closeAllConnections();
    metricsServer?.close();
    // Last, so that nothing else keeps the process running if it fails. Meanwhile the requests that were cut off end.
    await service.close().finally(() => observers?.flush());
  }
}

/** Reads it again at times, and at SIGHUP, by which certbot and others say that it has changed. */
function keepCertificate(server: Listener["server"], start: Start): Renewal | undefined {
  const { settings: { tls }, certificate, stopping, options: { report } } = start;
  const renewal = tls && certificate && renewCertificate(server as TlsServer, tls, certificate, report);
  const noEffect = (): void => report("SIGHUP has no effect: there is nothing to read again");
  stopping.addEventListener("hangup", renewal?.check ?? noEffect);
  return renewal;
}

/** An operator who has mistyped the folder sees it here: a new one, and no animals. */
async function whatIsServed(service: Service, { storage }: Settings): Promise<string> {
  const place = storage.kind === "folder" ? `folder ${resolve(storage.dataDir)}` : maskedAddress(storage.address);
  const { keys } = service;
  const animals = counted((await service.engine.countAnimals()) ?? 0, "animal");
  return [place, ...(keys.exists ? [] : ["made just now"]), animals, keys.keyring.countInWords()].join(", ");
}

/** With what the names of its settings begin with. */
type Address = Pick<Settings, "port" | "host"> & { readonly prefix: "" | "metrics-" };

/** Resolves to the port. @throws {UsageError} the address is taken, or not one of this machine */
function listen(server: Listener["server"], address: Address, { cite, options }: Start): Promise<number> {
  const { port, host, prefix } = address;
  return new Promise((resolve, reject) => {
    let isWarned = false;
    const warn = (reason: string): void => {
      if (!isWarned) {
        isWarned = true; // There may be thousands: one for each connection that was not accepted.
        options.report(`some connections cannot be accepted: ${reason}`, "warning");
      }
    };
    server.on("drop", () => warn(`${server.maxConnections} are open, which is the most`));
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (!server.listening) {
        const name = error.code === "EADDRINUSE" || error.code === "EACCES" ? "port" : "host";
        reject(new UsageError(`Cannot use ${cite(`${prefix}${name}`)}: ${error.message}`));
      } else {
        warn(error.message);
      }
    });
    // A server that listens on a port has an address with one.
    server.listen({ port, host, backlog: 4_096 }, () => resolve((server.address() as AddressInfo).port));
  });
}

function warnOfClearText({ settings: { host, baseUrl, tls }, options: { report } }: Start): void {
  const isLoopback = host === "localhost" || host === "::1" || /^127\.[\d.]+$/.test(host);
  if (tls === undefined && !isLoopback && !baseUrl?.startsWith("https:")) {
    const advice = "set --tls-cert and --tls-key, or put a TLS proxy in front and set --base-url https://…/v1";
    report(`API keys travel unencrypted to ${host}; ${advice}`, "warning");
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
