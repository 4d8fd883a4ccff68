/**
 * The floor: a bare node:http server that answers every request with the same status, fields and content, and does
 * nothing else. Whatever a service on node:http does, it does on top of this.
 *
 *     node floor.js FILE [FOLDER]     FILE: { status, rawFields, body } as an answer of the service was received
 *
 * With a folder it does one thing besides: each create waits until as many bytes as its answer has are on disk, all that
 * wait sharing one write and one fdatasync. That is the most that a durable create can come to on node:http.
 */
import { executionAsyncResource } from "node:async_hooks";
import { fdatasync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const { status, rawFields, body } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));

/** Node sets these by itself, here as in the service. */
const setByNode = new Set(["date", "connection", "keep-alive"]);
const fields = rawFields.filter((_, index) => !setByNode.has(rawFields[index - (index % 2)].toLowerCase()));
// Measured: a string is 2 % faster at 80 bytes, a Buffer 2 % at 1.4 kB and some 30 % at 6.8 kB.
const content = body.length > 1_024 ? Buffer.from(body) : body;

const answer = (outgoing) => outgoing.writeHead(status, fields).end(content);
const folder = process.argv[3];
const onCreate = folder === undefined ? answer : groupCommit(join(folder, "floor.log"));

const server = createServer((incoming, outgoing) => {
  if (incoming.method !== "POST") {
    answer(outgoing);
    return;
  }
  incoming.resume();
  incoming.on("end", () => onCreate(outgoing));
});

/** @param {string} path */
function groupCommit(path) {
  const file = openSync(path, "a");
  let waiting = [];
  let isRunning = false;
  const run = () => {
    const group = waiting;
    waiting = [];
    isRunning = group.length > 0;
    if (!isRunning) return;
    writeSync(file, `${body}\n`.repeat(group.length));
    fdatasync(file, (error) => {
      if (error !== null) throw error;
      group.forEach(answer);
      aTurnLater(run);
    });
  };
  // Behind the next look at the sockets: whoever was just answered and sends again shares the group.
  const aTurnLater = (next) => setImmediate(() => setImmediate(next));
  return (outgoing) => {
    waiting.push(outgoing);
    if (!isRunning) {
      isRunning = true;
      aTurnLater(run);
    }
  };
}

// As in the service (src/http/tick-shape.ts): what V8 slows down while it is idle is no floor.
let keptTick;
process.nextTick(() => (keptTick ??= executionAsyncResource()));

server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
process.on("SIGTERM", () => process.exit(0));
