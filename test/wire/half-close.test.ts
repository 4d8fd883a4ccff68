/**
 * A client closes its side after a request that is not whole. Goal: the service does not wait for bytes that cannot
 * come. Method: one whole request or none, then one that is cut, then the end of the stream, in the same packet or later,
 * on the fast lane, on node:http, and over TLS. Every whole request before it gets its response, and the connection
 * closes at once: waits of this test are shorter than the time-out of a request.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { one } from "../support/certificates.ts";
import { runningService } from "../support/running-service.ts";
import { request, rex, Wire } from "../support/wire.ts";

/** What is left of a request that lacks its end. */
function cuts(key: string): readonly Buffer[] {
  const post = request({ method: "POST", key, content: rex });
  const chunked = request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"], content: "5\r\n{\"na" });
  const fieldsEnd = post.length - rex.length;
  return [
    post.subarray(0, -1),
    post.subarray(0, fieldsEnd + 1),
    post.subarray(0, fieldsEnd),
    post.subarray(0, fieldsEnd - 1),
    post.subarray(0, fieldsEnd - 20),
    post.subarray(0, 10),
    post.subarray(0, 1),
    chunked,
    request({ method: "POST", key, fields: [`Content-Length: ${rex.length}`, "TE: trailers"] }),
  ];
}

for (const hasFastLane of [true, false]) {
  for (const certificate of [undefined, one]) {
    const place = `${hasFastLane ? "fast lane" : "node:http"}${certificate === undefined ? "" : ", over TLS"}`;
    test(`a half-close behind a request that is cut closes the connection at once (${place})`, async (context) => {
      const { port, key } = await runningService(context, { hasFastLane, ...(certificate && { certificate }) });
      const isSecure = certificate !== undefined || process.env["ANIMAL_STORE_TEST_TLS"] !== undefined;
      const wholes = [[], [request({ method: "POST", key, content: rex })], [request({ key })]];
      await Promise.all(wholes.flatMap((whole) => cuts(key).flatMap((cut) => [true, false].map(async (isOnePacket) => {
        const wire = await Wire.open(port, { isSecure });
        if (isOnePacket) {
          wire.send(Buffer.concat([...whole, cut])).halfClose();
        } else {
          [...whole, cut].forEach((bytes) => wire.send(bytes));
          wire.halfClose();
        }
        for (const { length } of whole) {
          assert.ok([200, 201].includes((await wire.response()).status), `a whole request of ${length} bytes`);
        }
        const { ending, rest } = await wire.closed();
        assert.equal(ending, "end");
        assert.match(rest, /^$|^HTTP\/1.1 400 /, `${isOnePacket} ${whole.length} ${cut.length}`);
      }))));
    });
  }
}
