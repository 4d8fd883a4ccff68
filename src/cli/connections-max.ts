import { existsSync, readFileSync } from "node:fs";

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
  const path = "/proc/self/limits"; // Only Linux has it. A report has the same, but takes 10 ms.
  const soft = existsSync(path)
    ? /^Max open files\s+(\S+)/m.exec(readFileSync(path, "latin1"))?.[1]
    : (process.report.getReport() as Report).userLimits?.open_files.soft;
  const limit = Number(soft ?? NaN);
  return Number.isNaN(limit) ? Infinity : limit; // "unlimited"
}

/** What is used of Node's report. Windows has no such limit. */
interface Report {
  readonly userLimits?: { readonly open_files: { readonly soft: number | string } };
}
