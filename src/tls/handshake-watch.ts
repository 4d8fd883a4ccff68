/** Handshakes that fail: counted, and told now and then. Otherwise nobody but the client would know. */

import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

import type { Clock } from "../base/clock.ts";
import { codeOf, messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";

/** Each is a label of the metric, and a message that an operator gets. What is none of them is `other`. */
const causes: readonly (readonly [label: string, codes: RegExp, meaning: string])[] = [
  ["plain_http", /_HTTP_REQUEST$|_HTTPS_PROXY_REQUEST$/, "plain HTTP on the HTTPS port"],
  ["not_tls", /_WRONG_VERSION_NUMBER$|_PACKET_LENGTH_TOO_LONG$/, "what came is not TLS, but perhaps plain HTTP"],
  ["old_version", /_UNSUPPORTED_PROTOCOL$|_VERSION_TOO_LOW$/, "the client knows no version of TLS from 1.2 on"],
  ["certificate", /_ALERT_.*(?:CERTIFICATE|UNKNOWN_CA)/, "the client does not trust the certificate"],
  ["closed", /^ECONNRESET$|^EPIPE$/, "the client closed the connection"],
  ["time_out", /_HANDSHAKE_TIMEOUT$/, "the client took too long"],
];

/** How often each cause is told, at most. */
const tellMs = 3_600_000;

export class HandshakeWatch {
  readonly #failures = new Map(
    [...causes.map(([label]) => label), "other"].map((label) => [label, { count: 0, untold: 0, nextMs: 0 }]),
  );
  readonly #clock: Clock;
  readonly #report: Report;

  constructor(server: Server, clock: Clock, report: Report) {
    this.#clock = clock;
    this.#report = report;
    server.on("tlsClientError", (error, socket) => this.#take(error, socket));
  }

  /** How many have failed since the start, by cause. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.#failures, ([label, { count }]) => [label, count]));
  }

  /** @param socket its `_parent` is the one below it, of TCP */
  #take(error: Error, socket: TLSSocket & { readonly _parent?: Socket }): void {
    if (socket._parent?.bytesRead === 0) {
      return; // Balancers see in this way whether the port is open.
    }
    const nowMs = this.#clock.monotonicMs();
    const code = String(codeOf(error));
    const [label, , meaning = reasonOf(error)] = causes.find(([, codes]) => codes.test(code)) ?? ["other"];
    const failures = this.#failures.get(label)!; // It has all labels.
    failures.count++;
    failures.untold++;
    if (nowMs >= failures.nextMs) {
      const { remoteAddress } = socket;
      const client = remoteAddress === undefined ? "" : ` (${remoteAddress})`; // A closed socket has none.
      this.#report(`${pluralize(failures.untold, "TLS handshake")} failed: ${meaning}${client}`, "warning");
      failures.untold = 0;
      failures.nextMs = nowMs + tellMs;
    }
  }
}

/** OpenSSL's words. The whole message has also its file and line. */
function reasonOf(error: Error): string {
  return "reason" in error && typeof error.reason === "string" ? error.reason : messageOf(error);
}
