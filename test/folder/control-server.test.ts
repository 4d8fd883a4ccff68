/**
 * The control socket beside clients that send junk, say nothing, give up, or are of another release. What commands get
 * is tested with them, in test/cli.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { test, type TestContext } from "node:test";

import type { Lock } from "../../src/disk/disk.ts";
import type { LockSocket } from "../../src/disk/lock-socket.ts";
import { lock, reach } from "../../src/disk/lock.ts";
import { openControlServer } from "../../src/folder/control-server.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import { KeyFolder, type OpenKeys } from "../support/key-folder.ts";
import { passTime } from "../support/mock-timers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";

interface LockOwner {
  readonly folder: KeyFolder;
  readonly store: OpenKeys;
  readonly path: string;
  readonly lock: Lock;
}

/** The owner of a folder's lock, with its control server. Its catalogue takes what `add` takes. */
async function hold(context: TestContext, add?: () => Promise<{ id: number; json: string }>): Promise<LockOwner> {
  const folder = new KeyFolder(context);
  const path = join(folder.path, "server.lock");
  const held = await lock(path);
  assert.ok(held);
  context.after(() => held.release());
  const store = await folder.open();
  openControlServer(held, { keys: store, store: () => add && { add }, report: (message) => folder.reports.push(message) });
  return { folder, store, path, lock: held };
}

async function send(path: string, text: string): Promise<string> {
  const connection = await reach(path);
  assert.ok(connection);
  connection.end(text);
  return (await connection.setEncoding("utf8").toArray()).join("");
}

/** Gets an answer: that no catalogue is open. */
const nothing = '{"door":3,"do":"add"}\n';
const made = '{"door":3,"do":"change"}\n';

test("junk gets an error or the end of its connection, changes nothing, and does no harm", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id } = await store.create();
  const before = await folder.content();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  const junk = [
    "", "\n", "{}", "{}\n", "null\n", "[]\n", '{"door":3}\n', '{"door":1,"do":"list"}\n', '{"door":3,"do":"stop"}\n', "\0\xff\n",
    made, `${made}\n`, `${made}{}\n`, `${made}${revoked.slice(0, -2)}`, `${made}${revoked.replace("revoked", "removed")}`,
    `${made}${revoked.replace(id, "key_000000000000000")}`, '{"door":3,"do":"add"}\n{}\n', "GET / HTTP/1.1\r\n\r\n",
  ];
  await passTime(context, () => Promise.all(junk.map(async (text) => {
    const response = await send(path, text);
    assert.ok(!response.includes('"done"'), `${JSON.stringify(text)} got ${response}`);
  })));
  assert.equal(await folder.content(), before);
  assert.equal(await send(path, `${made}${revoked}`), '{"door":3}\n{"done":true}\n');
});

test("a request beyond its bound is dropped, also in small pieces, and one in very many pieces within it is answered", async (context) => {
  const { path } = await hold(context);
  assert.equal(await send(path, `${nothing}${" ".repeat(1_100_000)}`).catch(() => ""), "");
  const inPieces = async (byteCount: number, pieceBytes: number): Promise<string> => {
    const connection = await reach(path);
    assert.ok(connection);
    connection.on("error", () => undefined); // One beyond the bound is closed by the other side.
    let [text, isClosed] = ["", false];
    connection.on("close", () => (isClosed = true)).setEncoding("utf8").on("data", (more: string) => (text += more));
    connection.write(nothing);
    for (let sent = 0; sent < byteCount && !isClosed; sent += pieceBytes) {
      await new Promise((resolve) => connection.write(" ".repeat(pieceBytes), () => setImmediate(resolve)));
    }
    connection.end("\n");
    await until("the connection is closed", () => isClosed);
    return text;
  };
  assert.match(await inPieces(3_000, 1), /"error"/);
  assert.equal(await inPieces(1_100_000, 100), "");
});

test("who says nothing holds up nobody, and beyond 32 of them the others are closed", async (context) => {
  const { path } = await hold(context);
  const silent: Duplex[] = [];
  context.after(() => silent.forEach((connection) => connection.destroy()));
  for (let count = 0; count < 31; count++) {
    const connection = await reach(path);
    assert.ok(connection);
    silent.push(connection.on("error", () => undefined));
  }
  assert.match(await send(path, nothing), /"error":"NotReadyError"/);
  for (let count = 0; count < 10; count++) {
    silent.push((await reach(path))?.on("error", () => undefined).resume() as Duplex); // It listens, so it is reached.
  }
  await until("those beyond the bound are closed", () => silent.filter(({ readableEnded }) => readableEnded).length === 9);
});

test("a command of another release is told so in a sentence", async (context) => {
  const { path } = await hold(context);
  const other = "the process that holds the folder is of another release: use that one, or restart it";
  assert.ok((await send(path, '{"door":1,"do":"change"}\n{}\n')).includes(`"message":"${other}"`));
  const connection = await reach(path);
  connection?.write('{"door":2,"do":"change"}\n{}\n\n'); // Release 3.0 keeps its side open, and ends a request so.
  assert.ok((await connection?.setEncoding("utf8").toArray())?.join("").includes(`"message":"${other}"`));
});

/** A folder whose owner answers a request with the first line, and what `then` does with the connection. */
async function heldBy(context: TestContext, then: (connection: Duplex, request: string) => void): Promise<string> {
  const path = temporaryFolder(context);
  const held = await lock(join(path, "server.lock"));
  assert.ok(held);
  context.after(() => held.release());
  held.answer((connection) => {
    let request = "";
    connection.setEncoding("utf8").on("data", (text: string) => (request += text)).on("end", () => {
      connection.write('{"door":3}\n');
      then(connection, request);
    });
  });
  return path;
}

test("after the first line a command whose owner ends, or says nothing, says that it may have effect", async (context) => {
  for (const [then, what] of [[(one: Duplex) => one.end(), "has ended"], [() => undefined, "has not answered for 10 s"]] as const) {
    const folder = await heldBy(context, then);
    const create = (): ReturnType<typeof runHere> => runHere(["keys", "create", "--data", folder]);
    const { code, stdout, stderr } = await passTime(context, create);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.ok(stderr.endsWith(`was asked and ${what}: it may have effect\n`), stderr);
  }
});

test("an import whose owner ends in a batch says which lines were added, which may be, and where to go on", async (context) => {
  const folder = await heldBy(context, (connection, request) => {
    connection.end(request.includes("import 501") ? "" : '{"added":500}\n{"done":true}\n');
  });
  const file = join(temporaryFolder(context), "animals.jsonl");
  writeFileSync(file, Array.from({ length: 1_200 }, (_, index) => `{"name":"import ${index + 1}","categoryId":1}\n`).join(""));
  const { code, stdout, stderr } = await runHere(["import", file, "--data", folder]);
  assert.deepEqual([code, stdout], [1, ""]);
  const added = "added the first 500 of 1200 animals, up to line 500, lines 501 to 1000 may have been added too";
  assert.ok(stderr.endsWith(`; ${added}; look for them before you go on with line 1001\n`), stderr);
});

test("each change of a key is told in a line that names the key, and no secret", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id, key } = await store.create();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  await send(path, `${made}${revoked}`);
  await send(path, `${made}${revoked}`); // Nothing is left to change.
  assert.equal(folder.reports.length, 1);
  assert.match(folder.reports.join(), new RegExp(`${id}: revoked`));
  assert.ok(!folder.reports.join().includes(key));
});

test("animals are added all together, and how many were is said where some fail", async (context) => {
  let count = 0;
  const add = async (): Promise<{ id: number; json: string }> => {
    count++;
    if (count > 2) {
      throw new Error("the disk is full");
    }
    return { id: count, json: "" };
  };
  const { path } = await hold(context, add);
  const line = '{"name":"Rex","categoryId":1}\n';
  assert.equal(await send(path, `{"door":3,"do":"add"}\n${line}${line}`), '{"door":3}\n{"added":2}\n{"done":true}\n');
  const failed = await send(path, `{"door":3,"do":"add"}\n${line}`);
  assert.equal(failed, '{"door":3}\n{"added":0}\n{"error":"Error","message":"the disk is full"}\n');
  assert.match(await send(path, `{"door":3,"do":"add"}\n${line.repeat(501)}`), /^\{"door":3\}\n\{"error":/);
  assert.equal(count, 3);
});

test("while too many ask, a command is turned away, and asks again", async (context) => {
  const { folder, path, lock } = await hold(context);
  const silent = await Promise.all(Array.from({ length: 32 }, () => reach(path)));
  let askedCount = 0;
  (lock as LockSocket).server.on("connection", () => askedCount++);
  const creating = runHere(["keys", "create", "--data", folder.path]);
  await until("it has been turned away, and has asked again", () => askedCount > 4); // It looks whether it is held, and asks.
  silent.forEach((connection) => connection?.destroy());
  assert.equal((await creating).code, 0);
});

