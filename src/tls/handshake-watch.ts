/**
 * Counts the TLS handshakes that fail, and reports the last cause now and then: otherwise only the client would know.
 * It does not sort the causes, for which `openssl s_client` is the tool.
 */

import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";

const reportMs = 3_600_000;

export class HandshakeWatch {
  /** Failed handshakes since the start. */
  count = 0;
  #reportedCount = 0;
  #nextMs = 0;
  readonly #clock: Clock;
  readonly #report: Report;

  constructor(server: Server, clock: Clock, report: Report) {
    this.#clock = clock;
    this.#report = report;
    server.on("tlsClientError", (error, socket) => this.#take(error, socket));
  }

  /** @param socket its `_parent` is the TCP socket below it */
  #take(error: Error, socket: TLSSocket & { readonly _parent?: Socket }): void {
    if (socket._parent?.bytesRead === 0) {
      return; // Balancers test in this way, without sending a byte, whether the port is open.
    }
    this.count++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#nextMs) {
      const { remoteAddress } = socket;
      const client = remoteAddress === undefined ? "" : ` (${remoteAddress})`; // A closed socket has none.
      const failed = `${pluralize(this.count - this.#reportedCount, "TLS handshake")} failed`;
      this.#report(`${failed}, the last one with: ${reasonOf(error)}${client}`, "warning");
      this.#reportedCount = this.count;
      this.#nextMs = nowMs + reportMs;
    }
  }
}

/** The reason in OpenSSL's words; the message has the file and line of OpenSSL's source besides. */
function reasonOf(error: Error): string {
  return "reason" in error && typeof error.reason === "string" ? error.reason : messageOf(error);
}
