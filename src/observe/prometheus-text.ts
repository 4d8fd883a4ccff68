/**
 * The Prometheus text format, version 0.0.4: counters, gauges and histograms as lines.
 */

export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** A family of samples with its `# HELP` and `# TYPE` lines. */
export function family(name: string, type: "counter" | "gauge", help: string, samples: readonly Sample[]): string {
  return head(name, type, help) + samples.map(({ labels = {}, value }) => line(name, labels, value)).join("");
}

/** Counts durations in buckets of fixed upper bounds (seconds). */
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

export function head(name: string, type: "counter" | "gauge" | "histogram", help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
