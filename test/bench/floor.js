/**
 * The floor: a bare node:http server that sends the same status, fields and content for every request, and does nothing
 * else. Every service on node:http does at least this.
 *
 *     node floor.js FILE [FOLDER]     FILE: { status, rawFields, body } of a response of the service
 *
 * With a folder, each create waits until as many bytes as its response has are on disk, and so does every second change:
 * the others stand for those that are refused. All that wait share one write and one fdatasync. A durable create on
 * node:http cannot be faster.
 */
import { executionAsyncResource } from "node:async_hooks";
import { fdatasync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const { status, rawFields, body } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));

/** Node sets these by itself, as in the service. */
const setByNode = new Set(["date", "connection", "keep-alive"]);
const fields = rawFields.filter((_, index) => !setByNode.has(rawFields[index - (index % 2)].toLowerCase()));
// Measured: a string is 2 % faster at 80 bytes, a Buffer 2 % at 1.4 kB and some 30 % at 6.8 kB.
const content = body.length > 1_024 ? Buffer.from(body) : body;

const respond = (outgoing) => outgoing.writeHead(status, fields).end(content);
const folder = process.argv[3];
const onWrite = folder === undefined ? respond : groupCommit(join(folder, "floor.log"));
let changeCount = 0;

const server = createServer((incoming, outgoing) => {
  if (incoming.method === "GET") {
    respond(outgoing);
    return;
  }
  if (incoming.method === "PATCH") changeCount += 1;
  const isRefused = changeCount % 2 === 1;
  incoming.resume();
  incoming.on("end", () => (isRefused ? respond : onWrite)(outgoing));
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
      group.forEach(respond);
      aTurnLater(run);
    });
  };
  // After the next poll of the sockets: a client that was just served and sends again joins the group.
  const aTurnLater = (next) => setImmediate(() => setImmediate(next));
  return (outgoing) => {
    waiting.push(outgoing);
    if (!isRunning) {
      isRunning = true;
      aTurnLater(run);
    }
  };
}

// As in the service (src/wire/tick-shape.ts). Without it, V8 slows ticks down after an idle time.
let keptTick;
process.nextTick(() => (keptTick ??= executionAsyncResource()));

server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
process.on("SIGTERM", () => process.exit(0));
