import { readFileSync } from "node:fs";

/** Descriptors for files, the lock, a database, and sockets that listen. */
const otherDescriptors = 64;
/** Where the limit is so low that less would be left. */
const connectionsMin = 16;

/**
 * How many connections may be open, so that keys and limits can still be read and saved. Call it once, at the start.
 * @param metricsConnectionsMax how many of the port of metrics may be open beside them
 */
export function connectionsMax(metricsConnectionsMax: number): number {
  return Math.max(openFilesMax() - otherDescriptors - metricsConnectionsMax, connectionsMin);
}

/** `RLIMIT_NOFILE`, which Node has raised as far as it may; Infinity if there is none. */
function openFilesMax(): number {
  const soft = softLimitOnLinux() ?? (process.report.getReport() as Report).userLimits?.open_files.soft;
  const limit = Number(soft ?? NaN);
  return Number.isNaN(limit) ? Infinity : limit; // "unlimited"
}

/** In a report, too, which takes 10 ms. Undefined on other systems, and where Node's permission model forbids it. */
function softLimitOnLinux(): string | undefined {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  } catch {
    return undefined;
  }
}

/** What is used of Node's report. Windows has no such limit. */
interface Report {
  readonly userLimits?: { readonly open_files: { readonly soft: number | string } };
}
