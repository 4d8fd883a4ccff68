/**
 * Counts the TLS handshakes that fail, and reports the last cause now and then: otherwise only the client would know.
 * It does not sort the causes, for which `openssl s_client` is the tool.
 */

import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

import { type Clock, throttle } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";

const reportMs = 3_600_000;

export class HandshakeWatch {
  /** Failed handshakes since the start. */
  count = 0;

  constructor(server: Server, clock: Clock, report: Report) {
    let reportedCount = 0;
    const tell = throttle(clock, reportMs, (cause: string) => {
      const failed = `${pluralize(this.count - reportedCount, "TLS handshake")} failed`;
      report(`${failed}, the last one with: ${cause}`, "warning");
      reportedCount = this.count;
    });
    // The `_parent` is the TCP socket below it.
    server.on("tlsClientError", (error, socket: TLSSocket & { readonly _parent?: Socket }) => {
      if (socket._parent?.bytesRead === 0) {
        return; // Balancers test in this way, without sending a byte, whether the port is open.
      }
      this.count++;
      const { remoteAddress } = socket; // A closed socket has none.
      tell(`${reasonOf(error)}${remoteAddress === undefined ? "" : ` (${remoteAddress})`}`);
    });
  }
}

/** The reason in OpenSSL's words; the message has the file and line of OpenSSL's source besides. */
function reasonOf(error: Error): string {
  return "reason" in error && typeof error.reason === "string" ? error.reason : messageOf(error);
}
