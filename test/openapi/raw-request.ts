/**
 * Sends one request over a socket of its own, byte for byte as given, and reads the response as it is. Other clients
 * correct what these tests have to send wrong, and hide fields that they have to see.
 */

import { connect } from "node:net";

export interface RawResponse {
  readonly status: number;
  /** In the order of arrival, names as sent. */
  readonly fields: readonly (readonly [string, string])[];
  /** Everything after the fields. */
  readonly content: string;
}

/** Sends the text and resolves with the one response. The request should ask for the connection to be closed. */
export function rawRequest(port: number, text: string): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString("latin1"))) {
        socket.destroy(); // The service may read on for a while before it closes.
      }
    });
    socket.on("error", reject);
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      try {
        resolve(parseResponse(Buffer.concat(chunks).toString("utf8")));
      } catch (error) {
        reject(new Error(`Cannot read the response to ${JSON.stringify(text.slice(0, 80))}`, { cause: error }));
      }
    });
  });
}

/** Whether the whole content has arrived. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  const length = /\r\nContent-Length: ([0-9]+)\r\n/i.exec(text.slice(0, end + 2))?.[1];
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length);
}

function parseResponse(text: string): RawResponse {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine, ...lines] = text.slice(0, end).split("\r\n");
  const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) /.exec(statusLine ?? "")?.[1];
  if (end === -1 || status === undefined) {
    throw new Error(`Cannot parse ${JSON.stringify(text.slice(0, 200))}: not a response`);
  }
  const fields = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(status), fields, content: text.slice(end + 4) };
}
