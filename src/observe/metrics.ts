/**
 * What the service counts about itself, for Prometheus. A client cannot add values of a label: routes are patterns,
 * methods are a closed list, and statuses are the service's or the embedding program's.
 */

import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";

import { release } from "../base/release.ts";

/** Values that the service provides at each scrape. Those that are undefined are not exposed. */
export interface Gauges {
  /** The number of animals of each status. */
  readonly animalCounts?: Readonly<Record<string, number>>;
  readonly logBytes?: number;
  /** Since the start. */
  readonly banCount: number;
  readonly bannedKeyCount?: number;
  readonly isHealthy: boolean;
  /** Whether the last write to the catalogue's log failed, or no more can follow. */
  readonly isWriteFailing?: boolean;
  /** The end of the certificate in use, in Unix time. This and the next two are there only with HTTPS. */
  readonly certificateEndSeconds?: number;
  /** From when on the service warns of that end. */
  readonly certificateEndToldFromSeconds?: number;
  readonly failedHandshakeCount?: number;
}

const knownMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

/** Upper bounds of the buckets, in seconds: from a request that needs no disk to one that waits for a slow disk. */
const requestBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const diskBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export class Metrics {
  readonly #eventLoopDelay: IntervalHistogram;
  readonly #requests = new Map<string, Sample<Histogram>>();
  readonly #refusals = new Map(["rate_limited", "key_banned", "too_many_failures"].map((reason) => [reason, 0]));
  #replayCount = 0;
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
      series = { labels, value: new Histogram(requestBounds) };
      this.#requests.set(entry, series);
    }
    series.value.observe(durationMs / 1_000);
  }

  countRefusal(reason: string): void {
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1);
  }

  countReplay(): void {
    this.#replayCount++;
  }

  countGroup({ appendMs, syncMs }: { readonly appendMs: number; readonly syncMs: number }): void {
    this.#appends.observe(appendMs / 1_000);
    this.#syncs.observe(syncMs / 1_000);
  }

  /** The page that Prometheus reads. */
  expose(gauges: Gauges): string {
    const { animalCounts, logBytes, isHealthy, banCount, bannedKeyCount } = gauges;
    const requests = [...this.#requests.values()];
    const totals = requests.map(({ labels, value }) => ({ labels, value: value.count }));
    const refusals = [...this.#refusals].map(([reason, value]) => ({ labels: { reason }, value }));
    const animals = Object.entries(animalCounts ?? {}).map(([status, value]) => ({ labels: { status }, value }));
    return [
      family("animal_store_requests_total", "counter", "Requests; status 0: the connection broke first.", totals),
      histogram(
        "animal_store_request_duration_seconds",
        "From reading the headers to giving the response to Node.",
        requests,
      ),
      family("animal_store_refusals_total", "counter", "429 responses, by reason.", refusals),
      counter("animal_store_replays_total", "Responses with Idempotent-Replayed.", this.#replayCount),
      gauge("animal_store_banned_keys", "Keys that are banned now.", bannedKeyCount),
      counter("animal_store_bans_total", "Bans since the start.", banCount),
      animals.length === 0 ? "" : family("animal_store_animals", "gauge", "Animals in the catalogue.", animals),
      gauge("animal_store_log_bytes", "Size of the catalogue's log.", logBytes),
      gauge("animal_store_healthy", "Whether /healthz says ok, 1 or 0.", isHealthy),
      gauge("animal_store_write_failing", "Whether writing to the log fails, 1 or 0.", gauges.isWriteFailing),
      histogram("animal_store_append_duration_seconds", "Writing one group of animals to the log.", [
        { value: this.#appends },
      ]),
      histogram("animal_store_fsync_duration_seconds", "fdatasync of one group of animals.", [{ value: this.#syncs }]),
      gauge(
        "animal_store_certificate_end_time_seconds",
        "End of the certificate, Unix time.",
        gauges.certificateEndSeconds,
      ),
      gauge(
        "animal_store_certificate_warning_time_seconds",
        "From when on that end is told, Unix time.",
        gauges.certificateEndToldFromSeconds,
      ),
      counter("animal_store_failed_handshakes_total", "TLS handshakes that failed.", gauges.failedHandshakeCount),
      this.#exposeProcess(),
    ].join("");
  }

  #exposeProcess(): string {
    const delay = this.#eventLoopDelay;
    const delayHelp = "Delay of a 10 ms timer since the last scrape; includes the 10 ms.";
    const delays = [50, 99, 100].map((percentile) => ({
      labels: { percentile: String(percentile) }, // `quantile` is reserved for summaries.
      value: delay.count === 0 ? 0 : delay.percentile(percentile) / 1e9,
    }));
    delay.reset();
    const cpu = process.cpuUsage();
    const build = { version: release, node: process.version.slice(1) };
    return [
      family("animal_store_build_info", "gauge", "The release, and Node's; always 1.", [{ labels: build, value: 1 }]),
      family("animal_store_event_loop_delay_seconds", "gauge", delayHelp, delays),
      gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
      counter("process_cpu_seconds_total", "User and system CPU time.", (cpu.user + cpu.system) / 1e6),
      gauge("process_start_time_seconds", "Start of the process, Unix time.", performance.timeOrigin / 1_000),
    ].join("");
  }
}

function gauge(name: string, help: string, value: number | boolean | undefined): string {
  return value === undefined ? "" : family(name, "gauge", help, [{ value: Number(value) }]);
}

function counter(name: string, help: string, value: number | undefined): string {
  return value === undefined ? "" : family(name, "counter", help, [{ value }]);
}

type Labels = Readonly<Record<string, string>>;

interface Sample<Value> {
  readonly labels?: Labels | undefined;
  readonly value: Value;
}

export function family(name: string, type: "counter" | "gauge", help: string, samples: Sample<number>[]): string {
  return head(name, type, help) + samples.map(({ labels = {}, value }) => line(name, labels, value)).join("");
}

function histogram(name: string, help: string, samples: Sample<Histogram>[]): string {
  return head(name, "histogram", help) + samples.map(({ labels = {}, value }) => value.lines(name, labels)).join("");
}

/** Counts durations in buckets. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds upper bounds in seconds, ascending; an infinite one is added */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get count(): number {
    return this.#counts.reduce((total, count) => total + count, 0);
  }

  observe(seconds: number): void {
    let index = 0;
    while (seconds > (this.#bounds[index] ?? Infinity)) {
      index++;
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += seconds;
  }

  lines(name: string, labels: Labels): string {
    let text = "";
    let cumulative = 0;
    this.#counts.forEach((count, index) => {
      cumulative += count;
      const bound = this.#bounds[index];
      text += line(`${name}_bucket`, { ...labels, le: bound === undefined ? "+Inf" : String(bound) }, cumulative);
    });
    return text + line(`${name}_sum`, labels, this.#sum) + line(`${name}_count`, labels, cumulative);
  }
}

function head(name: string, type: "counter" | "gauge" | "histogram", help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
