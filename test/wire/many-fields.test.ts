/**
 * Header fields take many times their bytes in memory, so their number is bounded. Node drops fields beyond a bound of
 * its own, also a second `Host` or `Authorization`: such a message must not be handled.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { start } from "../support/program.ts";
import { startService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, Wire } from "../support/wire.ts";

const running = await startService();
after(() => running.close());

/** Different texts: V8 keeps equal short ones once. */
const manyFields = (count: number): string[] => Array.from({ length: count }, (_, index) => `f${index}: v${index}`);

test("a message with 100 header fields, Host among them, is handled; with more it is 431 with the address's window", async () => {
  const { port, key } = running;
  for (const [count, status] of [[99, 200], [100, 200], [101, 431], [102, 431], [127, 431], [129, 431], [1_000, 431]] as const) {
    const response = await exchange(port, request({ key, fields: manyFields(count - 2) })); // And Host and Authorization.
    assert.equal(response.status, status, `${count} fields`);
    assertPromised(response);
    assert.equal(response.value("x-ratelimit-limit"), status === 200 ? "10000000" : "60");
    assert.equal(codeOf(response), status === 200 ? undefined : "header_fields_too_large");
    assert.ok(status === 200 || /\b100\b/.test(response.content), `${response.content} names the bound`);
    assert.equal(response.value("connection"), status === 200 ? "keep-alive" : "close");
  }
});

test("no field behind 100 others matters, not even Host or Authorization, in one packet or in many", async () => {
  const { port, key } = running;
  for (const last of ["Host: b", "Authorization: Bearer as_wrong", "Transfer-Encoding: chunked", "Expect: 100-continue", "Upgrade: h2c"]) {
    for (const count of [99, 250, 1_400]) {
      const bytes = request({ method: "POST", key, fields: [...manyFields(count), last], content: "" });
      for (const pieceBytes of [bytes.length, 701]) {
        const wire = await Wire.open(port);
        for (let from = 0; from < bytes.length; from += pieceBytes) {
          wire.send(bytes.subarray(from, from + pieceBytes));
          await exchange(port, request({ target: "/healthz" }));
        }
        const response = await wire.response();
        assert.equal(response.status, 431, `${last} behind ${count} fields`);
        assert.equal(response.value("x-ratelimit-remaining"), "60", "a wrong key was charged, so it could be guessed");
        wire.send(request({ key }));
        assert.equal((await wire.closed()).rest, "");
      }
    }
  }
});

test("400 clients that each send 16,000 bytes of header fields and no end do not fill a heap of 40 MB", async (context) => {
  const env = { NODE_OPTIONS: "--max-old-space-size=40" };
  const program = await start(context, ["--data", temporaryFolder(context)], { env });
  const port = Number(new URL(program.url).port);
  const bytes = `GET / HTTP/1.1\r\n${manyFields(1_400).join("\r\n")}`.slice(0, 16_000);
  const wires = await Promise.all(Array.from({ length: 400 }, async () => (await Wire.open(port)).send(bytes)));
  for (let turn = 0; turn < 20; turn++) {
    assert.equal((await exchange(port, request({ target: "/healthz" }))).status, 200);
  }
  wires.forEach((wire) => wire.destroy());
});
