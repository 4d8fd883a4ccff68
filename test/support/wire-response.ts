/**
 * Parses a response as it came over the wire, and asserts what holds for every response.
 */

import assert from "node:assert/strict";

import { type ErrorCode, errorTable } from "../../src/http/errors.ts";

export interface WireHead {
  readonly status: number;
  /** In the order of arrival: lower-case name, value. */
  readonly fields: readonly (readonly [string, string])[];
  readonly text: string;
  /** The value of the only field of this name; undefined if there is none. */
  value(name: string): string | undefined;
}

export interface WireResponse extends WireHead {
  readonly content: string;
  readonly contentBytes: number;
}

/** Parses strictly: bytes that are no response by RFC 9112, 4 and 5, fail. */
export function parseHead(text: string): WireHead {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) [A-Za-z' -]+$/.exec(statusLine)?.[1];
  assert.ok(status !== undefined, `not a status line: ${JSON.stringify(text.slice(0, 200))}`);
  const fields = lines.map((line) => {
    const [, name = "", value = ""] = /^([\w!#$%&'*+.^`|~-]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/.exec(line) ?? [];
    assert.ok(name !== "", `not a field: ${JSON.stringify(line)}`);
    return [name.toLowerCase(), value] as const;
  });
  return {
    status: Number(status),
    fields,
    text,
    value(name) {
      const values = fields.filter((field) => field[0] === name);
      assert.ok(values.length <= 1, `${name} is there ${values.length} times: ${text}`);
      return values[0]?.[1];
    },
  };
}

export interface Promised {
  readonly isPublic?: boolean;
  readonly isHead?: boolean;
}

/** Fails unless the response has every field of its kind, and an error exactly the Error body with a known code. */
export function assertPromised(response: WireResponse, { isPublic = false, isHead = false }: Promised = {}): void {
  const { status, text, content } = response;
  assert.match(response.value("x-request-id") ?? "", /^[A-Za-z0-9._-]{1,64}$/, text);
  assert.equal(response.value("x-content-type-options"), "nosniff", text);
  assert.equal(response.value("cache-control"), "no-store", text);
  assert.ok(!Number.isNaN(Date.parse(response.value("date") ?? "")), text);
  assert.equal(response.value("transfer-encoding"), undefined, text);
  for (const name of ["limit", "remaining", "reset"]) {
    const value = response.value(`x-ratelimit-${name}`);
    assert.match(value ?? "none", isPublic ? /^none$/ : /^(0|[1-9][0-9]*)$/, `X-RateLimit-${name}: ${text}`);
  }
  if (status === 204 || status === 304) {
    assert.equal(response.value("content-length"), undefined, text);
    assert.equal(response.value("content-type"), undefined, text);
    return;
  }
  assert.equal(response.value("content-type"), "application/json; charset=utf-8", text);
  assert.match(response.value("content-length") ?? "", /^[1-9][0-9]*$/, text);
  if (isHead) {
    assert.equal(content, "");
    return;
  }
  assert.equal(response.value("content-length"), String(Buffer.byteLength(content)), text);
  const body: unknown = JSON.parse(content);
  if (status >= 400 && !(isPublic && status === 503)) {
    assertErrorBody(body, status);
  }
  assertStatusFields(response);
}

function assertErrorBody(body: unknown, status: number): void {
  assert.ok(typeof body === "object" && body !== null && "code" in body && "message" in body);
  const { code, message } = body;
  assert.deepEqual(body, { code, message, status });
  assert.deepEqual(Object.keys(body), ["code", "message", "status"]);
  assert.ok(typeof message === "string" && message.length > 0);
  // Looking it up shows whether it is a code.
  assert.equal(errorTable[code as ErrorCode]?.[0], status, `${String(code)} is no code of ${status}`);
}

const tag = /^"(available|pending|sold)-[1-9][0-9]*"$/;

function assertStatusFields(response: WireResponse): void {
  const { status, text, content } = response;
  assert.equal(response.value("www-authenticate") !== undefined, status === 401 || status === 403, text);
  assert.equal(response.value("allow") !== undefined, status === 405 || status === 204, text);
  assert.equal(response.value("location") !== undefined, status === 201, text);
  const isLater = status === 503 && content.includes('"code"'); // Not /healthz.
  assert.match(response.value("retry-after") ?? "none", isLater ? /^1$/ : status === 429 ? /^[1-9][0-9]*$/ : /^none$/, text);
  assert.match(response.value("etag") ?? "none", status === 412 ? tag : /^none$|^"(available|pending|sold)-/, text);
  if (status === 429) {
    assert.equal(response.value("x-ratelimit-remaining"), "0", text);
  }
  if (status === 401) {
    const isMissing = content.includes('"missing_api_key"');
    const challenge = `Bearer realm="animal-store"${isMissing ? "" : ', error="invalid_token"'}`;
    assert.equal(response.value("www-authenticate"), challenge, text);
  }
}

export function codeOf({ content }: WireResponse): string | undefined {
  return /^\{"code":"(\w+)"/.exec(content)?.[1];
}
