/**
 * What the service counts about itself, for Prometheus. A client cannot add values of a label: routes are patterns,
 * methods are a closed list, and statuses are the service's own.
 */

import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

import { expositionType, family, head, Histogram, type Labels } from "./prometheus-text.ts";

/** Values that the service provides at each scrape. What is undefined is not exposed. */
export interface Gauges {
  readonly animalCount?: number;
  readonly logBytes?: number;
  /** Since the start. */
  readonly banCount: number;
  readonly bannedKeyCount?: number;
  readonly isHealthy: boolean;
}

const knownMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

/** Seconds. From a request that needs no disk to one that waits for a slow disk. */
const requestBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const diskBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

interface RequestSeries {
  readonly labels: Labels;
  readonly durations: Histogram;
}

export class Metrics {
  readonly contentType: string = expositionType;
  readonly #eventLoopDelay: IntervalHistogram;
  readonly #requests = new Map<string, RequestSeries>();
  readonly #refusals = new Map<string, number>([
    ["rate_limited", 0],
    ["key_banned", 0],
  ]);
  readonly #appends = new Histogram(diskBounds);
  readonly #syncs = new Histogram(diskBounds);

  constructor() {
    this.#eventLoopDelay = monitorEventLoopDelay({ resolution: 10 });
    this.#eventLoopDelay.enable();
  }

  /** @param status 0 if the connection broke before the response */
  countRequest(route: string, method: string, status: number, durationMs: number): void {
    const methodLabel = knownMethods.has(method) ? method : "other";
    const entry = `${route} ${methodLabel} ${status}`;
    let series = this.#requests.get(entry);
    if (series === undefined) {
      const labels = { route, method: methodLabel, status: String(status) };
      series = { labels, durations: new Histogram(requestBounds) };
      this.#requests.set(entry, series);
    }
    series.durations.observe(durationMs / 1_000);
  }

  countRefusal(reason: "rate_limited" | "key_banned"): void {
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1);
  }

  countGroup({ appendMs, syncMs }: { readonly appendMs: number; readonly syncMs: number }): void {
    this.#appends.observe(appendMs / 1_000);
    this.#syncs.observe(syncMs / 1_000);
  }

  /** The page that Prometheus reads. */
  expose(gauges: Gauges): string {
    return this.#exposeRequests(gauges) + this.#exposeStore(gauges) + this.#exposeProcess();
  }

  #exposeRequests({ bannedKeyCount, banCount }: Gauges): string {
    const series = [...this.#requests.values()];
    const totals = series.map(({ labels, durations }) => ({ labels, value: durations.count }));
    const refusals = [...this.#refusals].map(([reason, value]) => ({ labels: { reason }, value }));
    const durations = "animal_store_request_duration_seconds";
    return (
      family("animal_store_requests_total", "counter", "Requests; status 0: the connection broke first.", totals) +
      head(durations, "histogram", "From reading the header fields to giving the response to Node.") +
      series.map((one) => one.durations.lines(durations, one.labels)).join("") +
      family("animal_store_refusals_total", "counter", "429 responses, by reason.", refusals) +
      gauge("animal_store_banned_keys", "Keys that are banned now.", bannedKeyCount) +
      counter("animal_store_bans_total", "Bans since the start.", banCount)
    );
  }

  #exposeStore({ animalCount, logBytes, isHealthy }: Gauges): string {
    const append = "animal_store_append_duration_seconds";
    const sync = "animal_store_fsync_duration_seconds";
    return (
      gauge("animal_store_animals", "Animals in the catalogue.", animalCount) +
      gauge("animal_store_log_bytes", "Size of the catalogue's log.", logBytes) +
      gauge("animal_store_healthy", "Whether /healthz says ok, 1 or 0.", isHealthy ? 1 : 0) +
      head(append, "histogram", "Writing one group of animals to the log.") +
      this.#appends.lines(append, {}) +
      head(sync, "histogram", "fdatasync of one group of animals.") +
      this.#syncs.lines(sync, {})
    );
  }

  #exposeProcess(): string {
    const delay = this.#eventLoopDelay;
    const cpu = process.cpuUsage();
    const delays = [50, 99, 100].map((percentile) => ({
      labels: { percentile: String(percentile) }, // `quantile` is reserved for summaries.
      value: delay.count === 0 ? 0 : delay.percentile(percentile) / 1e9,
    }));
    delay.reset();
    return (
      family(
        "animal_store_event_loop_delay_seconds",
        "gauge",
        "Delay of a 10 ms timer since the last scrape; includes the 10 ms.",
        delays,
      ) +
      gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()) +
      counter("process_cpu_seconds_total", "User and system CPU time.", (cpu.user + cpu.system) / 1e6) +
      gauge("process_start_time_seconds", "Start of the process, Unix time.", performance.timeOrigin / 1_000)
    );
  }
}

function gauge(name: string, help: string, value: number | undefined): string {
  return value === undefined ? "" : family(name, "gauge", help, [{ value }]);
}

function counter(name: string, help: string, value: number): string {
  return family(name, "counter", help, [{ value }]);
}
