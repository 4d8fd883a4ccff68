/**
 * `node dist/server.js` without a command: opens the service, listens, and stops cleanly when told to.
 */

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock } from "../disk/clock.ts";
import { FolderInUseError } from "../disk/folder-lock.ts";
import { bounds } from "../http/bounds.ts";
import { createListener } from "../http/listener.ts";
import { createPageListener } from "../http/page-listener.ts";
import { keepTickShape } from "../http/tick-shape.ts";
import { expositionType } from "../observe/exposition.ts";
import { Observers } from "../observe/observers.ts";
import { checkOptions } from "../options.ts";
import { openService, type Service } from "../service.ts";
import { UsageError } from "./flags.ts";
import { readSettings, type SettingName, type Settings, type SettingsRead } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

export interface RunningServer {
  /** Stops listening, finishes what is under way, and resolves when everything is on disk. */
  stop(): Promise<void>;
}

/**
 * Resolves once the server listens.
 *
 * @throws {UsageError} a setting that is wrong, or cannot be used on this machine
 */
export async function serve(args: readonly string[], terminal: Terminal): Promise<RunningServer> {
  const { settings, cite } = readSettings(args, terminal.environment);
  keepTickShape();
  const report = settings.log === "off" ? () => undefined : (message: string) => terminal.stderr(`${message}\n`);
  const observers = new Observers({
    clock: systemClock,
    hasMetrics: settings.metricsPort !== undefined,
    writeRequests: settings.log === "requests" ? terminal.stderr : undefined,
  });
  const service = await open(settings, { cite, report, observers });
  const listener = createListener(service, bounds);
  const metricsServer = createMetricsServer(service, observers);
  const stop = async (): Promise<void> => {
    service.beginStopping();
    await listener.stop(bounds.stopMs);
    await service.close();
    metricsServer.closeAllConnections();
    metricsServer.close();
    observers.close();
  };
  try {
    const { host, metricsHost } = settings;
    const context = { cite, report };
    const port = await listen(
      listener.server,
      { port: settings.port, host, portName: "port", hostName: "host" },
      context,
    );
    if (settings.metricsPort !== undefined) {
      const metricsPort = await listen(
        metricsServer,
        { port: settings.metricsPort, host: metricsHost, portName: "metrics-port", hostName: "metrics-host" },
        context,
      );
      report(`metrics on http://${hostInUrl(settings.metricsHost)}:${metricsPort}/metrics`);
    }
    warnOfClearText(settings, report);
    await printFirstKey(service, { settings, port, terminal });
    terminal.stdout(`listening on http://${hostInUrl(settings.host)}:${port}${service.basePath}\n`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async stop() {
      report("stopping: finishing the requests under way");
      await stop();
      report("stopped: everything is on disk");
    },
  };
}

interface Context {
  readonly cite: SettingsRead["cite"];
  readonly report: (message: string) => void;
  readonly observers: Observers;
}

async function open(
  settings: Settings,
  context: Context,
): Promise<Service> {
  const options = checkOptions({
    dataDir: settings.dataDir,
    baseUrl: settings.baseUrl?.url,
    stagingBaseUrl: settings.stagingBaseUrl?.url,
    trustProxy: settings.trustedProxyCount,
    corsOrigins: settings.corsOrigins,
    report: context.report,
  });
  try {
    return await openService(options, context.observers.isWatching ? { observers: context.observers } : {});
  } catch (error) {
    if (error instanceof FolderInUseError || isOfFolder(error)) {
      throw new UsageError(`Cannot use ${context.cite("data")}: ${error.message}`);
    }
    throw error;
  }
}

/** What the system says of a file has its `path`; of a socket, which is how a folder is claimed, its `address`. */
function isOfFolder(error: unknown): error is Error {
  return error instanceof Error && "code" in error && ("path" in error || "address" in error);
}

function createMetricsServer(service: Service, { metrics }: Observers): Server {
  const content = (): string => metrics?.expose(service.gauges) ?? "";
  return createPageListener({ path: "/metrics", contentType: expositionType, content });
}

interface Address {
  readonly portName: SettingName;
  readonly hostName: SettingName;
  readonly port: number;
  readonly host: string;
}

/** @throws {UsageError} the address is taken, or is none of this machine */
function listen(server: Server, address: Address, { cite, report }: Pick<Context, "cite" | "report">): Promise<number> {
  const { port, host, portName, hostName } = address;
  return new Promise((resolve, reject) => {
    let isListening = false;
    let isWarned = false;
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (!isListening) {
        const isHost = error.code === "EADDRNOTAVAIL" || error.syscall === "getaddrinfo";
        reject(new UsageError(`Cannot use ${cite(isHost ? hostName : portName)}: ${error.message}`));
      } else if (!isWarned) {
        isWarned = true; // It may come by the thousand: one a connection that could not be taken.
        report(`warning: cannot take connections at times: ${error.message}`);
      }
    });
    server.listen({ port, host, backlog: 4_096 }, () => {
      isListening = true;
      // A server that listens on a port has an address with one.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function warnOfClearText({ host, baseUrl }: Settings, report: (message: string) => void): void {
  const isLoopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  if (!isLoopback && !baseUrl?.url.toLowerCase().startsWith("https:")) {
    report(`warning: API keys travel in clear to ${host}; put TLS in front and name it: --base-url https://…/v1`);
  }
}

/** The one key that ever stands in output: without it a first look would need a second command. */
async function printFirstKey(
  { keys, basePath }: Service,
  { settings, port, terminal }: { settings: Settings; port: number; terminal: Terminal },
): Promise<void> {
  if (keys.exists) {
    return;
  }
  const { key } = await keys.create({ label: "first key" });
  const isAnyAddress = settings.host === "0.0.0.0" || settings.host === "::";
  const host = hostInUrl(isAnyAddress ? "127.0.0.1" : settings.host);
  terminal.stdout(
    `first start: made a key on the Free plan; it is shown this once\n\n` +
      `  ${key}\n\n` +
      `  curl -H "Authorization: Bearer ${key}" http://${host}:${port}${basePath}/pets\n\n`,
  );
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
