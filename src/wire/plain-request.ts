/**
 * Plain requests: what the fast lane (fast-lane.ts) reads by itself.
 *
 * The grammar is so small that no two parsers read it differently: one space, CRLF, printable ASCII, no field twice, no
 * transfer coding, nothing that speaks of the connection, and no byte more or less than `Content-Length` says. It is a
 * part of RFC 9112's.
 */

import type { IncomingHttpHeaders } from "node:http";

import { bounds } from "../base/bounds.ts";
import { isHost } from "../http/message.ts";

export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: PlainFields;
  readonly content: Uint8Array;
}

export interface PlainFields {
  /** As they were sent, with the empty line. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** 0 without `Content-Length`. */
  readonly contentLength: number;
}

const plainBytesMax = 8_192;
const requestLine = /^(GET|HEAD|OPTIONS|POST|PATCH) (\/[\w./?=&%~:,+-]*) HTTP\/1\.1\r\n/;
const fieldLines = /^(?:[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?\r\n)+\r\n$/;
const plainLength = /^(?:0|[1-9][0-9]{0,3})$/;

/** Their meaning, or that of several values, is left to node:http. */
const otherFields: ReadonlySet<string> = new Set([
  ...["transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection", "set-cookie"],
]);

/**
 * Reads a packet that is one plain request. Returns "incomplete" if only content is missing, undefined if it is
 * anything else.
 * @param known the fields of the connection's last request: a client sends the same ones again and again
 */
export function readPlain(packet: Buffer, known: PlainFields | undefined): PlainRequest | "incomplete" | undefined {
  if (packet.length > plainBytesMax) {
    return undefined;
  }
  const text = packet.toString("latin1");
  const line = requestLine.exec(text);
  if (line === null) {
    return undefined;
  }
  const [{ length: fieldsStart }, method = "", target = ""] = line;
  const mayHaveContent = method === "POST" || method === "PATCH";
  const fieldsEnd = mayHaveContent ? text.indexOf("\r\n\r\n", fieldsStart - 2) + 4 : text.length;
  const fieldsText = text.slice(fieldsStart, fieldsEnd);
  const fields = fieldsText === known?.text ? known : readFields(fieldsText);
  if (fields === undefined || mayHaveContent !== fields.contentLength > 0) {
    return undefined;
  }
  const end = fieldsEnd + fields.contentLength;
  if (end !== text.length) {
    return end > text.length && end <= plainBytesMax ? "incomplete" : undefined;
  }
  return { method, target, fields, content: packet.subarray(fieldsEnd) };
}

/** Returns undefined if they are not plain. */
function readFields(text: string): PlainFields | undefined {
  if (!fieldLines.test(text)) {
    return undefined;
  }
  const lines = text.slice(0, -4).split("\r\n");
  if (lines.length > bounds.fieldCountMax) {
    return undefined;
  }
  const headers = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 2);
    if (name in headers || otherFields.has(name) || (name === "connection" && value.toLowerCase() !== "keep-alive")) {
      return undefined;
    }
    headers[name] = value;
  }
  const { host, "content-length": length } = headers;
  if (host === undefined || !isHost(host) || (length !== undefined && !plainLength.test(length))) {
    return undefined;
  }
  return { text, headers, contentLength: Number(length ?? 0) };
}
