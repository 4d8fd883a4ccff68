/**
 * After a 400 about the message itself nothing more is read as a request on its connection, which closes: the bytes
 * that follow may be content to one recipient and a request to another (RFC 9112, 2.2, 3.2, 6.1, 6.3 and 11.2).
 *
 * Each faulty request here comes in one packet with a create that must not take place.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { GatedStore } from "../support/gated-store.ts";
import { keyWithQuota, startService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const store = new GatedStore();
const running = await startService({ options: { store } });
after(() => running.close());
const { key, port } = running;

const chunkedRex = `1d\r\n${rex}\r\n0\r\n\r\n`;
const post = "POST /v1/pets HTTP/1.1\r\n";
const postToHost = `${post}Host: a\r\n`;

const faulty: Readonly<Record<string, string>> = {
  "no Host, with content": `${post}Content-Length: 29\r\n\r\n${rex}`,
  "two Hosts, with content": `${postToHost}Host: a\r\nContent-Length: 29\r\n\r\n${rex}`,
  "two Hosts in 1.0": "GET /v1/pets HTTP/1.0\r\nHost: a\r\nhOST: b\r\n\r\n",
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a TLS handshake": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "a space before the colon": "GET /v1/pets HTTP/1.1\r\nHost : a\r\n\r\n",
  "a NUL in a field": "GET /v1/pets HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n",
  "gzip alone": `${postToHost}Transfer-Encoding: gzip\r\n\r\nabc`,
  "two Hosts on a public page": "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
  "chunked in HTTP/1.0": `POST /v1/pets HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedRex}`,
  "gzip, chunked": `${postToHost}Transfer-Encoding: gzip, chunked\r\n\r\n${chunkedRex}`,
  "gzip and chunked in two fields":
    `${postToHost}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedRex}`,
  "identity, chunked": `${postToHost}Transfer-Encoding: identity, chunked\r\n\r\n${chunkedRex}`,
  "chunked with a parameter": `${postToHost}Transfer-Encoding: chunked;a=b\r\n\r\n${chunkedRex}`,
  "a coding like chunked": `${postToHost}Transfer-Encoding: xchunked\r\n\r\n${chunkedRex}`,
  "both framings, length first": `${postToHost}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "both framings, length last": `${postToHost}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  "a length with a sign": `${postToHost}Content-Length: +29\r\n\r\n${rex}`,
  "a list of lengths": `${postToHost}Content-Length: 29, 29\r\n\r\n${rex}`,
  "the same length twice": `${postToHost}Content-Length: 29\r\nContent-Length: 29\r\n\r\n${rex}`,
  "a hexadecimal length": `${postToHost}Content-Length: 0x1d\r\n\r\n${rex}`,
  "a length beyond 2^64": `${postToHost}Content-Length: 18446744073709551645\r\n\r\n${rex}`,
  "a folded length": `${postToHost}Content-Length:\r\n 29\r\n\r\n${rex}`,
  "a folded field": `${postToHost}X-A: b\r\n c\r\nContent-Length: 29\r\n\r\n${rex}`,
  "a field before the first": `${post} Host: a\r\nContent-Length: 29\r\n\r\n${rex}`,
  "a bare LF after a field": `${post}Host: a\nContent-Length: 29\r\n\r\n${rex}`,
  "a bare CR in a field": `${postToHost}X-A: b\rc\r\nContent-Length: 29\r\n\r\n${rex}`,
  "a bare LF after a chunk's size": `${postToHost}Transfer-Encoding: chunked\r\n\r\n1d\n${rex}\r\n0\r\n\r\n`,
  "a bare LF after a chunk": `${postToHost}Transfer-Encoding: chunked\r\n\r\n1d\r\n${rex}\n0\r\n\r\n`,
  "a chunk longer than its size": `${postToHost}Transfer-Encoding: chunked\r\n\r\n1c\r\n${rex}\r\n0\r\n\r\n`,
  "a chunk's size with a prefix": `${postToHost}Transfer-Encoding: chunked\r\n\r\n0x1d\r\n${rex}\r\n0\r\n\r\n`,
  "a chunk's size beyond 2^64":
    `${postToHost}Transfer-Encoding: chunked\r\n\r\n1000000000000001d\r\n${rex}\r\n0\r\n\r\n`,
  "a coding in the trailers": `${postToHost}Transfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n`,
};

for (const [name, bytes] of Object.entries(faulty)) {
  test(`${name}: 400 malformed_request, and the creation that follows is not read`, async () => {
    const wire = await Wire.open(port);
    const keyed = bytes.replace("\r\n", `\r\nAuthorization: Bearer ${key}\r\n`);
    wire.send(Buffer.concat([Buffer.from(keyed, "latin1"), request({ method: "POST", key, content: rex })]));
    const response = await wire.response();
    assert.equal(codeOf(response), "malformed_request");
    assertPromised(response, { isPublic: response.value("x-ratelimit-limit") === undefined });
    assert.equal(response.value("connection"), "close");
    wire.halfClose();
    assert.equal((await wire.closed()).rest, "");
    assert.equal(store.addCount, 0);
  });
}

const hosts: readonly (readonly [host: string, isHost: boolean])[] = [
  ["localhost", true],
  ["api.example.com:", true], // RFC 3986, 3.2.3: a port may be empty.
  ["127.0.0.1:3000", true],
  ["[::1]", true],
  ["[2001:db8::1]:443", true],
  ["[v1.fe80::a]", true],
  ["a-b_c~d.e%20f!$&'()*+,;=", true],
  ["", true],
  ["a b/c@d", false],
  ["user@example.com", false],
  ["example.com/path", false],
  ["example.com:80:80", false],
  ["a, b", false],
  ["a\\b", false],
  ["a%2", false],
  ["\xe4.example", false],
  ["::1", false],
  ["[::1", false],
  ["[::g]", false],
  ["[::1%25eth0]", false],
  ["[v1.]", false],
];
for (const [host, isHost] of hosts) {
  test(`Host: ${host} is ${isHost ? "accepted" : "400"}`, async () => {
    const wire = await Wire.open(port);
    wire.send(request({ key, fields: [`Host: ${host}`] }));
    const response = await wire.response();
    assertPromised(response);
    assert.equal(response.status, isHost ? 200 : 400);
    wire.send(request({ key }));
    if (isHost) {
      assert.equal((await wire.response()).status, 200);
      wire.destroy();
    } else {
      assert.equal(codeOf(response), "malformed_request");
      assert.equal((await wire.closed()).rest, "");
    }
  });
}

test("other versions and protocols, and methods that Node does not know, are 400", async () => {
  const start = (line: string) => `${line}\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const lines = [
    "SOURCE /v1/pets ICE/1.0", "SOURCE /v1/pets ICE/1.1", "SOURCE /v1/pets HTTP/1.1", "GET /v1/pets ICE/1.0",
    "DESCRIBE /v1/pets RTSP/1.0", "PLAY /v1/pets RTSP/1.1", "SETUP /v1/pets RTSP/1.0", "DESCRIBE /v1/pets HTTP/1.1",
    "GET /v1/pets HTTP/0.9", "GET /v1/pets HTTP/1.2", "GET /v1/pets HTTP/3", "GET /v1/pets", "BREW /v1/pets HTTP/1.1",
    "get /v1/pets HTTP/1.1", "PUT /v1/pets RTSP/1.0", "GET /v1/pets RTSP/2.0", "PRI /v1/pets HTTP/1.1", "GET /v1/pets HTTPS/1.1",
  ];
  for (const line of lines) {
    const response = await exchange(port, start(line));
    assert.equal(codeOf(response), "malformed_request", line);
    assertPromised(response);
    assert.equal(response.value("connection"), "close");
  }
});

test("CONNECT after a 400 about the message is not read either, and takes no token", async () => {
  const key = await keyWithQuota(running, 10);
  const wire = await Wire.open(running.port);
  const connect = request({ method: "CONNECT", target: "example.com:443", key });
  wire.send(Buffer.concat([Buffer.from("GET /v1/pets HTTP/1.1\r\n\r\n"), connect]));
  assert.equal((await wire.response()).status, 400);
  assert.equal((await wire.closed()).rest, "");
  const next = await exchange(running.port, request({ key }));
  assert.equal(next.value("x-ratelimit-remaining"), "9");
});

test("nothing follows a response that says that the connection closes, not even an error", async () => {
  const endings = [
    request({ key, fields: ["Host: a", "Host: b"] }),
    request({ key, fields: ["Host: a", "Host: b"], content: rex }),
    request({ key, fields: ["Connection: close"] }),
    request({ method: "POST", key, fields: ["Connection: close"], content: "{" }),
    request({ key, version: "1.0" }),
  ];
  for (const ending of endings) {
    for (const rest of ["garbage\r\n\r\n", request({ key }), request({ method: "POST", key, content: rex })]) {
      const wire = await Wire.open(port);
      assert.equal((await wire.send(request({ key })).response()).value("connection"), "keep-alive");
      wire.send(Buffer.concat([ending, Buffer.from(rest)])).halfClose();
      assert.equal((await wire.response()).value("connection"), "close");
      assert.equal((await wire.closed()).rest, "", String(ending) + String(rest));
    }
  }
  assert.equal(store.addCount, 0);
});
