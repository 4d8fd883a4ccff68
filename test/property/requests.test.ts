/**
 * A hostile client: mutated requests over raw sockets. Goal: no crash, no hang, no 5xx, no response that breaks a
 * promise, nothing after a response that closes the connection, and no response that shifts to another request.
 *
 * Each round opens a connection, sends right, odd or damaged requests in random packets, half-closes, and reads until
 * the service closes. What came must be responses and nothing else. FUZZ_COUNT sets how many rounds there are, SEED
 * replays them.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { runningService } from "../support/running-service.ts";
import { SeededRandom, seedFromEnvironment } from "../support/seeded-random.ts";
import { assertPromised, parseHead } from "../support/wire-response.ts";
import { exchange, request, Wire } from "../support/wire.ts";
import { mutate, requests } from "./mutations.ts";

/** Fewer do not meet every status. */
const usualRoundCount = 3_000;
const roundsAtOnce = 128;

/** What the service sends until it closes. A reset is a way to close. */
async function talk(port: number, packets: readonly Buffer[]): Promise<Buffer> {
  const wire = await Wire.open(port);
  packets.forEach((packet) => wire.send(packet));
  return Buffer.from((await wire.halfClose().closed()).rest);
}

/**
 * Fails unless the bytes are whole responses, in the order of the requests, and the last one alone closes the
 * connection. Returns their statuses.
 */
function judge(received: Buffer, sent: Buffer, isMutated: boolean): readonly number[] {
  const statuses: number[] = [];
  let isClosed = false;
  const isHeadPossible = sent.includes("HEAD ");
  let rest = received.toString("latin1");
  while (rest !== "") {
    const headEnd = rest.indexOf("\r\n\r\n");
    assert.notEqual(headEnd, -1, `no whole response: ${rest}`);
    const head = parseHead(rest.slice(0, headEnd));
    rest = rest.slice(headEnd + 4);
    if (head.status === 100) {
      assert.equal(head.text, "HTTP/1.1 100 Continue");
      continue;
    }
    assert.ok(!isClosed, `comes after a response that closes: ${head.text}`);
    isClosed = head.value("connection") === "close";
    const isHead = isHeadPossible && !/^[{[]/.test(rest);
    const length = isHead ? 0 : Number(head.value("content-length") ?? 0);
    assert.ok(rest.length >= length, `content is cut: ${head.text}\n${rest}`);
    const content = Buffer.from(rest.slice(0, length), "latin1").toString();
    rest = rest.slice(length);
    const isPublic = head.value("x-ratelimit-limit") === undefined;
    assert.ok(!isPublic || [200, 204, 405].includes(head.status), head.text);
    assertPromised({ ...head, content, contentBytes: length }, { isPublic, isHead });
    assert.ok(head.status < 500, `${head.text}\n${content}`);
    assert.ok(isClosed || !content.startsWith('{"code":"malformed_request"'), `keeps the connection: ${head.text}`);
    const id = head.value("x-request-id") ?? "";
    // A response to bytes that are no request has an id of the service's own.
    assert.ok(isMutated || (isClosed && !/^r\d$/.test(id)) || id === `r${statuses.length}`, `has shifted: ${head.text}`);
    statuses.push(head.status);
  }
  return statuses;
}

async function fuzz(context: TestContext, roundCount: number): Promise<void> {
  const seed = seedFromEnvironment();
  const running = await runningService(context, {
    options: { trustProxy: 1 },
    limits: { fieldsMs: 2_000, requestMs: 3_000, timeoutCheckMs: 50 },
  });
  const seen = new Map<number, number>();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < roundCount) {
      const round = next++;
      // Each round has randomness of its own, so that it is the same one whatever runs beside it.
      const random = new SeededRandom((seed + round * 7_919) >>> 0);
      const whole = requests(random, running.key);
      const sent = mutate(random, whole);
      const at = random.integer(0, sent.length);
      const received = await talk(running.port, random.oneIn(3) ? [sent.subarray(0, at), sent.subarray(at)] : [sent]);
      try {
        judge(received, sent, sent !== whole).forEach((status) => seen.set(status, (seen.get(status) ?? 0) + 1));
      } catch (cause) {
        throw new Error(`SEED=${seed} round ${round}: ${JSON.stringify(sent.toString("latin1").slice(0, 600))}`, { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: roundsAtOnce }, work));
  const counts = [...seen].sort(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`);
  context.diagnostic(`SEED=${seed} ${counts.join(", ")}`);
  if (roundCount >= usualRoundCount) {
    assert.deepEqual([200, 201, 204, 400, 401, 404, 405, 413, 415].filter((status) => !seen.has(status)), [], "not seen");
  }
  assert.deepEqual(running.reports, []);
  assert.equal((await exchange(running.port, request({ key: running.key }))).status, 200);
}

const count = Number(process.env["FUZZ_COUNT"] ?? usualRoundCount);
test(`${count} damaged requests: no crash, no hang, no 5xx, no response that shifts or breaks a promise`, (context) => {
  return fuzz(context, count);
});
