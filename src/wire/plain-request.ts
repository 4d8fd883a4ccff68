/**
 * Plain requests: what the fast lane (fast-lane.ts) reads by itself.
 *
 * The grammar is a part of RFC 9112's, so small that no two parsers read it differently: single spaces, CRLF, printable
 * ASCII, no field twice, no transfer coding, no field about the connection but `keep-alive`, and as much content as
 * `Content-Length` says. All else is left to node:http.
 */

import type { IncomingHttpHeaders } from "node:http";

import { bounds } from "../base/bounds.ts";
import { isHost } from "../base/host.ts";

export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: PlainFields;
  /** As much of the content as the packet has. */
  readonly content: Uint8Array;
  /** How many bytes of the packet belong to the request. */
  readonly packetBytes: number;
}

export interface PlainFields {
  /** The lines as they were sent, with the empty line after them. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** 0 without `Content-Length`. */
  readonly contentLength: number;
}

const plainBytesMax = 8_192;
const fieldsEnd = "\r\n\r\n";
const requestLine = /^(GET|HEAD|OPTIONS|POST|PATCH|DELETE) (\/[\w./?=&%~:,+-]*) HTTP\/1\.1\r\n/;
const fieldLines = /^(?:[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?\r\n)+\r\n$/;
const plainLength = /^(?:0|[1-9][0-9]{0,3})$/;

/** Fields whose meaning is left to node:http. */
const otherFields: ReadonlySet<string> = new Set(
  ["transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection", "set-cookie"],
);

/**
 * Reads the request with which a packet begins, whose content may not have come whole. Returns undefined if the request
 * is not plain, or its fields have not come whole.
 * @param known the fields of the connection's last request: a client sends the same ones again and again
 */
export function readPlain(packet: Buffer, known: PlainFields | undefined): PlainRequest | undefined {
  const text = packet.toString("latin1", 0, plainBytesMax);
  const line = requestLine.exec(text);
  if (line === null) {
    return undefined;
  }
  const [{ length: fieldsStart }, method = "", target = ""] = line;
  const lastField = text.indexOf(fieldsEnd, fieldsStart);
  if (lastField === -1) {
    return undefined;
  }
  const contentStart = lastField + fieldsEnd.length;
  // The fields may be stored. As a slice of the packet's text they would keep all of it in memory.
  const fields = text.slice(fieldsStart, contentStart) === known?.text
    ? known
    : readFields(packet.toString("latin1", fieldsStart, contentStart));
  const mayHaveContent = method === "POST" || method === "PATCH";
  if (fields === undefined || mayHaveContent !== (fields.contentLength > 0)) {
    return undefined;
  }
  const end = contentStart + fields.contentLength;
  if (end > plainBytesMax) {
    return undefined;
  }
  const content = packet.subarray(contentStart, end);
  return { method, target, fields, content, packetBytes: contentStart + content.length };
}

/** Returns undefined if the fields are not plain. */
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
