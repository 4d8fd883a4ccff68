/**
 * Requests that are right or nearly so, and ways to damage their bytes.
 */

import type { SeededRandom } from "../support/seeded-random.ts";

const methods = [
  ...Array<string>(9).fill("GET"), ...Array<string>(13).fill("POST"), ...Array<string>(6).fill("PATCH"), ...Array<string>(4).fill("DELETE"),
  "HEAD", "HEAD", "OPTIONS", "PUT", "CONNECT",
  "TRACE", "BREW", "SOURCE", "DESCRIBE",
];
const targets = [
  ...Array<string>(12).fill("/v1/pets"), "/v1/pets?limit=3", "/v1/pets/1", "/v1/pets/1", "/v1/pets/2", "/v1/pets/x", "/healthz", "/openapi.json",
  "*", "//a/v1/pets", "/v1/%70ets",
  "http://a/v1/pets", "a:443", "/v1/pets?limit=0&status=sold", "/v1/../v1/pets", `/${"x".repeat(9_000)}`, "/v1/pets?after=9e9",
  "/v1/pets?categoryId=5&status=sold", "/v1/pets?categoryId=-0",
];
const versions = [...Array<string>(30).fill("1.1"), "1.0", "1.0", "1.2", "2.0", "0.9"];
const contents = [
  '{"name":"Rex","categoryId":5}', '{"name":"Rex","categoryId":5,"status":"sold"}', '{"status":"pending"}', '{"status":"sold"}',
  '{"name":"Max"}', '{"categoryId":5.0,"status":"sold"}',
  "{", "[]", "null", '{"name":""}',
  '{"name":"\\ud800","categoryId":1}', '{"name":"Rex","categoryId":1e400}', "\xff\xfe", "", `"${"x".repeat(17_000)}"`, `"${"x".repeat(17_000)}"`,
  `${"[".repeat(5_000)}`,
];
const fields = [
  "Content-Type: application/json", "If-Match: *", "If-Match: \"available\", W/\"sold\"", "If-Match: pending", "If-Match: \"",
  "If-Match: available-1", "If-Match: \"sold-2\", \"sold\"", "If-Match: sold-02", "If-None-Match: \"available-1\"", "If-None-Match: sold",
  "If-None-Match: *", "If-None-Match: W/\"sold\"", "Idempotency-Key: a", "Idempotency-Key: \"b\"", "Content-Type: application/merge-patch+json",
  "Content-Type: text/plain", "Content-Encoding: gzip", "Expect: 100-continue",
  "Expect: nothing", "Host: b", "Host: a b/c@d", "Connection: close", "Connection: keep-alive", "Connection: Upgrade\r\nUpgrade: h2c", "Upgrade: h2c",
  "X-Forwarded-For: 1.2.3.4", "Origin: https://shop.example", "Access-Control-Request-Method: GET",
  "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Content-Length: 5", "Content-Length: 29", "Content-Length: +29", "TE: trailers",
  "Authorization: Basic YTpi", "Cookie: a=b", "X-Empty:", `X-Long: ${"y".repeat(17_000)}`, "Keep-Alive: timeout=1",
];
const tokens = ["\r\n", "\n", "\r", "\0", ":", " ", "\t", "0\r\n\r\n", "5\r\nabcde\r\n", "HTTP/1.1", "\xff", "%00", "zz", ";", ","];

/** The bytes of one to three requests, one after the other. Their X-Request-Ids are r0, r1, r2. */
export function requests(random: SeededRandom, key: string): Buffer {
  const count = random.oneIn(4) ? random.integer(2, 3) : 1;
  let index = 0;
  return Buffer.concat(random.times(count, () => oneRequest(random, key, `r${index++}`)));
}

function oneRequest(random: SeededRandom, key: string, id: string): Buffer {
  const content = random.oneIn(2) ? random.pick(contents) : "";
  const lines = [`${random.pick(methods)} ${random.pick(targets)} HTTP/${random.pick(versions)}`];
  if (!random.oneIn(20)) {
    lines.push("Host: a");
  }
  if (!random.oneIn(8)) {
    lines.push(`Authorization: Bearer ${random.oneIn(8) ? "as_wrong" : key}`);
  }
  lines.push(`X-Request-Id: ${id}`, `X-Forwarded-For: 10.${random.integer(0, 255)}.${random.integer(0, 255)}.1`);
  if (content !== "" && !random.oneIn(20)) {
    lines.push(random.oneIn(4) ? "Transfer-Encoding: chunked" : `Content-Length: ${content.length}`);
  }
  lines.push(...random.times(random.oneIn(2) ? random.integer(1, 2) : 0, () => random.pick(fields)));
  const isChunked = lines.includes("Transfer-Encoding: chunked");
  const framed = isChunked && content !== "" ? `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n` : content;
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${framed}`, "latin1");
}

const plainFields = [
  "Accept: */*", "accept-encoding: gzip, br", "User-Agent: curl/8.5.0", "Connection: keep-alive", "connection: Keep-Alive", "Connection: close",
  "Content-Type: application/json", "If-Match: \"available\"", "Idempotency-Key: a", "X-Forwarded-For: 10.0.0.1, 10.0.0.2", "Cookie: a=b",
  "Set-Cookie: a=b", "Origin: https://shop.example", "Content-Length: 5", "Content-Length: 05", "TE: trailers", "Trailer: X", "A: b", "1: 2",
  "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Odd: a  b\tc", "X-Space: a ", "__proto__: a", "constructor: b",
  "Transfer-Encoding: identity", "Proxy-Connection: keep-alive", "HTTP2-Settings: AAMAAABkAAQAAP__",
  "Via: 1.1 a", "Age: 1", "Referer: /", "From: a", "ETag: a",
];

/** A request as the fast lane takes them, or nearly so. */
export function plainRequest(random: SeededRandom): Buffer {
  const method = random.pick(["GET", "GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE"]);
  const content = method !== "POST" && method !== "PATCH" ? "" : random.pick(contents.slice(0, 8));
  const lines = [
    `${method} ${random.pick(["/v1/pets", "/v1/pets?limit=3&after=4", "/v1/pets/1", "/healthz", "/", "/a#b", "/a|b"])} HTTP/1.1`,
    random.pick(["Host: a", "Host: localhost:3000", "host: [::1]:80", "Host: a b"]),
    ...random.times(random.integer(0, 4), () => random.pick(plainFields)),
    ...(content === "" ? [] : [`Content-Length: ${content.length}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${content}`, "latin1");
}

/** Damages the bytes in up to three places; one time in two not at all. */
export function mutate(random: SeededRandom, bytes: Buffer): Buffer {
  let mutated = bytes;
  for (let count = random.oneIn(2) ? random.integer(1, 3) : 0; count > 0; count--) {
    const at = random.integer(0, mutated.length);
    const before = mutated.subarray(0, at);
    const after = mutated.subarray(at);
    switch (random.integer(0, 4)) {
      case 0: // cut
        mutated = before;
        break;
      case 1: // leave out
        mutated = Buffer.concat([before, after.subarray(random.integer(1, 20))]);
        break;
      case 2: // repeat
        mutated = Buffer.concat([before, after.subarray(0, random.integer(1, 40)), after]);
        break;
      case 3: // insert
        mutated = Buffer.concat([before, Buffer.from(random.pick(tokens), "latin1"), after]);
        break;
      default: // change one byte
        mutated = Buffer.from(mutated);
        if (at < mutated.length) {
          mutated[at] = random.integer(0, 255);
        }
    }
  }
  return mutated;
}
