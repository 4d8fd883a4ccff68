/**
 * The server: opens the service, listens, and stops cleanly.
 */

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { bounds } from "../base/bounds.ts";
import { createListener } from "../http/listener.ts";
import { createPageListener } from "../http/page-listener.ts";
import { keepTickShape } from "../http/tick-shape.ts";
import { keyFileName } from "../keys/key-file.ts";
import { KeyError } from "../keys/key.ts";
import type { Observers } from "../observe/observers.ts";
import { type AnimalStoreOptions, type CheckedOptions, checkOptions } from "../options.ts";
import { openService, type Service } from "../service.ts";
import { DamagedLogError } from "../store/json-lines-pet-store.ts";
import { consolePages } from "./console-pages.ts";
import { UsageError } from "./parse-flags.ts";
import { readSettings, type Settings, type SettingsRead } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** The dependencies of every step of a start. */
interface Start extends SettingsRead {
  readonly terminal: Terminal;
  readonly options: CheckedOptions;
  readonly observers: Observers | undefined;
  readonly stopping: AbortSignal;
}

/**
 * Serves until `stopping` is aborted, then finishes the requests under way. Resolves when everything is on disk. An
 * abort during the start ends it early, and no key is made or printed.
 *
 * @throws {UsageError} a setting is wrong, or cannot be used on this machine
 * @throws {Error} a file is damaged, or the console is not built
 */
export async function serve(args: readonly string[], terminal: Terminal, stopping: AbortSignal): Promise<void> {
  const read = readSettings(args, terminal.environment);
  const { storage } = read.settings;
  if (storage.kind === "folder") {
    await serveFrom({ dataDir: storage.dataDir }, read, terminal, stopping);
    return;
  }
  const { withPool } = await import("./database.ts");
  await withPool(storage, (database) => serveFrom({ database }, read, terminal, stopping));
}

type Kept = Pick<AnimalStoreOptions, "dataDir" | "database">;

async function serveFrom(kept: Kept, read: SettingsRead, terminal: Terminal, stopping: AbortSignal): Promise<void> {
  const start = await prepare(kept, read, terminal, stopping);
  keepTickShape();
  try {
    const service = await open(start);
    await listenUntilStopped(service, start);
    start.options.report("stopped");
  } catch (error) {
    if (!(error instanceof Error && error.name === "AbortError")) {
      throw error;
    }
  }
}

async function prepare(
  kept: Kept,
  { settings, cite }: SettingsRead,
  terminal: Terminal,
  stopping: AbortSignal,
): Promise<Start> {
  const options = checkOptions({
    ...kept,
    baseUrl: settings.baseUrl,
    stagingBaseUrl: settings.stagingBaseUrl,
    trustProxy: settings.trustedProxyCount,
    corsOrigins: settings.corsOrigins,
    report: settings.log === "off" ? () => undefined : (message) => terminal.stderr(`${message}\n`),
  });
  return { settings, cite, terminal, options, observers: await makeObservers(settings, terminal), stopping };
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

async function open(start: Start): Promise<Service> {
  const { settings, options, observers, stopping } = start;
  const publicPages = settings.hasConsole ? consolePages() : [];
  try {
    return await openService(options, { signal: stopping, publicPages, observers });
  } catch (error) {
    throw startError(error, start);
  }
}

/** Besides damage, and the end of a start that is stopped, every error says why the folder or database is unusable. */
function startError(error: unknown, { settings, cite }: Start): unknown {
  if (error instanceof Error && error.name === "AbortError") {
    return error;
  }
  if (error instanceof DamagedLogError || error instanceof KeyError) {
    return new Error(`${error.message}; see check --help`, { cause: error });
  }
  const name = settings.storage.kind === "folder" ? "data" : "database";
  return new UsageError(`Cannot use ${cite(name)}: ${messageOf(error)}`);
}

/** Opens the metrics port first: a start that fails because that port is taken never opens the port of the API. */
async function listenUntilStopped(service: Service, start: Start): Promise<void> {
  const { settings, observers, stopping, options: { report } } = start;
  const listener = createListener(service, bounds);
  const metrics = observers?.metrics;
  const metricsServer = metrics && createPageListener({
    path: "/metrics",
    contentType: metrics.contentType,
    content: () => metrics.expose(service.gauges),
  });
  try {
    await mustHaveRoom(service, start);
    const { metricsPort, metricsHost } = settings;
    let metricsUrl: string | undefined;
    if (metricsServer !== undefined && metricsPort !== undefined) {
      const port = await listen(metricsServer, { port: metricsPort, host: metricsHost, prefix: "metrics-" }, start);
      metricsUrl = `http://${hostInUrl(metricsHost)}:${port}/metrics`;
    }
    const port = await listen(listener.server, { port: settings.port, host: settings.host, prefix: "" }, start);
    stopping.throwIfAborted();
    if (metricsUrl !== undefined) {
      report(`metrics on ${metricsUrl}`); // Not earlier: a start that fails writes one line, its error.
    }
    warnOfClearText(start);
    await showFirstKey(service, port, start);
    start.terminal.stdout(`listening on http://${hostInUrl(settings.host)}:${port}${service.basePath}\n`);
    await aborted(stopping);
    report("stopping: finishing the requests under way");
  } finally {
    service.beginStopping();
    await listener.stop(bounds.stopMs);
    metricsServer?.closeAllConnections();
    metricsServer?.close();
    // Last, so that nothing else keeps the process running if it fails. Meanwhile the requests that were cut off end.
    await service.close().finally(() => observers?.close());
  }
}

/**
 * A first start on a full disk ends before it listens. Its key is made later, once the ports are open: nobody would
 * ever see the key of a start that fails because a port is taken.
 */
async function mustHaveRoom({ keys }: Service, start: Start): Promise<void> {
  const { storage } = start.settings;
  if (storage.kind === "folder" && !keys.exists) {
    const { checkRoom } = await import("./check.ts");
    await checkRoom(nodeDisk, join(storage.dataDir, `${keyFileName}.new`)).catch((error: unknown) => {
      throw startError(error, start);
    });
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    await once(signal, "abort");
  }
}

interface Address {
  readonly port: number;
  readonly host: string;
  /** Of the names of its settings. */
  readonly prefix: "" | "metrics-";
}

/** @throws {UsageError} the address is taken, or not one of this machine */
function listen(server: Server, address: Address, { cite, options: { report } }: Start): Promise<number> {
  const { port, host, prefix } = address;
  return new Promise((resolve, reject) => {
    let isListening = false;
    let isWarned = false;
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (!isListening) {
        const name = error.code === "EADDRINUSE" || error.code === "EACCES" ? "port" : "host";
        reject(new UsageError(`Cannot use ${cite(`${prefix}${name}`)}: ${error.message}`));
      } else if (!isWarned) {
        isWarned = true; // There may be thousands: one for each connection that was not accepted.
        report(`warning: some connections cannot be accepted: ${error.message}`);
      }
    });
    server.listen({ port, host, backlog: 4_096 }, () => {
      isListening = true;
      // A server that listens on a port has an address with one.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function warnOfClearText({ settings: { host, baseUrl }, options: { report } }: Start): void {
  const isLoopback = host === "localhost" || host === "::1" || /^127\.[\d.]+$/.test(host);
  if (!isLoopback && !baseUrl?.startsWith("https:")) {
    report(`warning: API keys travel unencrypted to ${host}; put a TLS proxy in front and set --base-url https://…/v1`);
  }
}

/** Makes a key at the first start, so that no second command is needed to try the service. */
async function showFirstKey({ keys, basePath }: Service, port: number, start: Start): Promise<void> {
  const { settings, terminal, options } = start;
  if (keys.exists) {
    return;
  }
  const made = await keys.createFirst({ label: "first key" }).catch((error: unknown) => {
    throw startError(error, start);
  });
  if (made === undefined) {
    return; // Another server was first.
  }
  const { key } = made;
  const isAnyAddress = settings.host === "0.0.0.0" || settings.host === "::";
  const host = hostInUrl(isAnyAddress ? "127.0.0.1" : settings.host);
  const isShown = terminal.showKey(
    `first start: made a key on the Free plan; it is shown this once\n\n` +
      `  ${key}\n\n` +
      `  curl -H "Authorization: Bearer ${key}" "http://${host}:${port}${basePath}/pets"\n\n` +
      (settings.hasConsole ? `  or paste the key into the console: http://${host}:${port}/\n\n` : ""),
  );
  if (!isShown) {
    options.report("warning: the first key could not be printed; make another with keys create");
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
