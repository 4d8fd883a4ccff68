/** Reloads a renewed certificate while the server runs, and warns before a certificate expires. */

import { clearInterval, setInterval } from "node:timers";
import type { Server } from "node:tls";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Level, Report } from "../base/report.ts";
import { HandshakeWatch } from "./handshake-watch.ts";
import { endToldFromMs, type Pair, readPair, remarksOn } from "./pair.ts";

/** The files are read this often, not watched: a renewal often replaces links, or folders above them. */
const checkMs = 20_000;
const dayMs = 86_400_000;

export class TlsWatch {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #handshakes: HandshakeWatch;
  readonly #timer: NodeJS.Timeout;
  #used: Pair;
  #fault: string | undefined;
  #looking: Promise<void> | undefined;
  /** Whether `check(true)` was called since the current look began. */
  #isAsked = false;
  #toldMs = 0;

  /** @param used the pair that the server has */
  constructor(server: Server, used: Pair, clock: Clock, report: Report) {
    this.#server = server;
    this.#used = used;
    this.#clock = clock;
    this.#report = report;
    this.#handshakes = new HandshakeWatch(server, clock, report);
    this.#timer = setInterval(() => void this.check(), checkMs);
  }

  /** For the metrics. */
  get gauges() {
    const { leaf } = this.#used;
    return {
      certificateEndSeconds: Date.parse(leaf.validTo) / 1_000,
      certificateEndToldFromSeconds: Math.ceil(endToldFromMs(leaf) / 1_000),
      failedHandshakeCount: this.#handshakes.count,
    };
  }

  /**
   * Reads the files again and uses their pair for new connections; others keep the pair that they began with. A pair
   * that cannot be used is reported once, and the previous one stays in use.
   * @param isAsked whether the caller waits for a report, even of something reported before
   */
  check(isAsked = false): Promise<void> {
    this.#isAsked ||= isAsked;
    if (this.#clock.monotonicMs() - this.#toldMs >= dayMs) {
      this.tell(["warning"]);
    }
    // One look at a time: on a disk that hangs, more of them would fill the thread pool that the data needs.
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<void> {
    do {
      const isAsked = this.#isAsked;
      this.#isAsked = false;
      const { paths, cert, key } = this.#used;
      try {
        const read = await readPair(paths);
        if (isAsked || !read.cert.equals(cert) || !read.key.equals(key)) {
          this.#server.setSecureContext(read.context);
          this.#used = read;
          this.#report("the certificate was read again");
          this.tell();
        }
        this.#fault = undefined;
      } catch (error) {
        const message = messageOf(error);
        if (isAsked || message !== this.#fault) {
          this.#fault = message;
          const effect = "cannot be used; the previous one stays in use";
          this.#report(`the certificate in ${paths.cert} and ${paths.key} ${effect}: ${message}`, "warning");
        }
      }
    } while (this.#isAsked);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reports what an operator should know of the pair in use. */
  tell(levels: readonly Level[] = ["info", "warning"]): void {
    this.#toldMs = this.#clock.monotonicMs();
    for (const [message, level] of remarksOn(this.#used, this.#clock.wallMs())) {
      if (levels.includes(level)) {
        this.#report(message, level);
      }
    }
  }
}
