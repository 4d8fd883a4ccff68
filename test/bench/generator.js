/**
 * A small load generator: keep-alive connections, each with one request under way. It replaces wrk if that is missing.
 * The mixed load always uses it, because wrk cannot measure reads and creates separately.
 *
 *     node generator.js PORT CONNECTIONS SECONDS FILE RUN
 *
 * FILE holds raw HTTP/1.1 requests, each ended by a NUL. The text {unique} in a request is replaced by RUN and a number
 * that grows with each. Prints one JSON line: { all, reads, creates }.
 * It does not support what these servers never send: trailers, 1xx, and content without a length.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";

const [port = 0, connectionCount = 0, seconds = 0] = process.argv.slice(2, 5).map(Number);
const requests = readFileSync(process.argv[5] ?? "", "latin1")
  .split("\0")
  .filter((text) => text !== "")
  .map((text) => ({ bytes: bytesOf(text), isCreate: text.startsWith("POST") }));
const run = process.argv[6] ?? "";
let sentCount = 0;

const startedMs = performance.now();
const endMs = startedMs + seconds * 1000;
const tallies = { reads: tally(), creates: tally() };
let nextIndex = 0;
let openCount = connectionCount;
let brokenCount = 0;

for (let count = 0; count < connectionCount; count += 1) openConnection();

/** @returns {Buffer | ((unique: string) => Buffer)} */
function bytesOf(text) {
  const [before = "", after] = text.split("{unique}");
  if (after === undefined) return Buffer.from(text, "latin1");
  return (unique) => Buffer.from(before + unique + after, "latin1");
}

function tally() {
  return { latenciesMs: /** @type {number[]} */ ([]), errors: 0 };
}

function openConnection() {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let sentMs = 0;
  let request = requests[0];
  let received = Buffer.alloc(0);

  function send() {
    request = requests[nextIndex];
    nextIndex = (nextIndex + 1) % requests.length;
    sentMs = performance.now();
    const { bytes } = request;
    socket.write(typeof bytes === "function" ? bytes(`${run}${++sentCount}`) : bytes);
  }

  socket.on("connect", send);
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const status = statusOfWhole(received);
    if (status === undefined) return;
    received = received.subarray(received.length);
    const nowMs = performance.now();
    const { latenciesMs } = request.isCreate ? tallies.creates : tallies.reads;
    latenciesMs.push(nowMs - sentMs);
    if (status > 399) (request.isCreate ? tallies.creates : tallies.reads).errors += 1;
    if (nowMs < endMs) send();
    else socket.end();
  });
  socket.on("error", () => (brokenCount += 1));
  socket.on("close", () => {
    openCount -= 1;
    if (performance.now() < endMs) brokenCount += 1;
    if (openCount === 0) report();
  });
}

/** @returns {number | undefined} the status of the response, once it is complete */
function statusOfWhole(received) {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = received.latin1Slice(0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  const isWhole =
    length === null
      ? received.latin1Slice(Math.max(headEnd, received.length - 5)) === "0\r\n\r\n"
      : received.length >= headEnd + 4 + Number(length[1]);
  return isWhole ? Number(head.slice(9, 12)) : undefined;
}

function report() {
  const durationSeconds = (performance.now() - startedMs) / 1000;
  const all = {
    latenciesMs: tallies.reads.latenciesMs.concat(tallies.creates.latenciesMs),
    errors: tallies.reads.errors + tallies.creates.errors,
  };
  const rounds = Object.entries({ all, ...tallies }).map(([name, { latenciesMs, errors }]) => {
    const sorted = Float64Array.from(latenciesMs).sort();
    const quantile = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const latency = { p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) };
    return [name, { requests: sorted.length, seconds: durationSeconds, errors, broken: brokenCount, ...latency }];
  });
  console.log(JSON.stringify(Object.fromEntries(rounds)));
}
