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
  readonly lines: readonly FieldLine[];
  readonly headers: IncomingHttpHeaders;
  /** 0 without `Content-Length`. */
  readonly contentLength: number;
}

interface FieldLine {
  /** As it was sent, with its CRLF. */
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

const plainBytesMax = 8_192;
const lineEnd = "\r\n";
const fieldsEnd = "\r\n\r\n";
const requestLine = /^(GET|HEAD|OPTIONS|POST|PATCH|DELETE) (\/[\w./?=&%~:,+-]*) HTTP\/1\.1\r\n/;
const fieldLine = /^([A-Za-z0-9-]+): ([!-~](?:[ -~]*[!-~])?)\r\n$/;
const plainLength = /^(?:0|[1-9][0-9]{0,3})$/;

/** Fields whose meaning is left to node:http. */
const otherFields: ReadonlySet<string> = new Set(
  ["transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection", "set-cookie"],
);

/**
 * Reads the request with which a packet begins, whose content may not have come whole. Returns undefined if the request
 * is not plain, or its fields have not come whole.
 * @param known the fields of the connection's last request: a client sends most of their lines again and again
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
  const fields = readFields(packet, text, { start: fieldsStart, end: lastField + lineEnd.length, known });
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

interface Place {
  readonly start: number;
  readonly end: number;
  readonly known: PlainFields | undefined;
}

/** Returns undefined if the fields are not plain, and `known` if they are the same. */
function readFields(packet: Buffer, text: string, { start, end, known }: Place): PlainFields | undefined {
  const lines: FieldLine[] = [];
  let isKnown = true;
  for (let at = start; at < end;) {
    const before = known?.lines[lines.length];
    const isSame = before !== undefined && text.slice(at, at + before.text.length) === before.text;
    // Lines may be stored. As a slice of the packet's text they would keep all of it in memory.
    const line = isSame ? before : readLine(packet.toString("latin1", at, text.indexOf(lineEnd, at) + lineEnd.length));
    if (line === undefined) {
      return undefined;
    }
    isKnown &&= isSame;
    lines.push(line);
    at += line.text.length;
  }
  return isKnown && lines.length === known?.lines.length ? known : fieldsOf(lines);
}

/** Returns undefined if the line is not plain. */
function readLine(text: string): FieldLine | undefined {
  const match = fieldLine.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, sentName = "", value = ""] = match;
  const name = sentName.toLowerCase();
  const isPlain =
    !otherFields.has(name) &&
    (name !== "connection" || value.toLowerCase() === "keep-alive") &&
    (name !== "host" || isHost(value)) &&
    (name !== "content-length" || plainLength.test(value));
  return isPlain ? { text, name, value } : undefined;
}

/** Returns undefined if a field is there twice, or there are too many, or no Host. */
function fieldsOf(lines: readonly FieldLine[]): PlainFields | undefined {
  if (lines.length > bounds.fieldCountMax) {
    return undefined;
  }
  const headers = Object.create(null) as Record<string, string>;
  for (const { name, value } of lines) {
    if (name in headers) {
      return undefined;
    }
    headers[name] = value;
  }
  const { host, "content-length": length = 0 } = headers;
  return host === undefined ? undefined : { lines, headers, contentLength: Number(length) };
}
