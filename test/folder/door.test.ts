/**
 * The door as those meet it who send junk, say nothing, give up, or are of another release. What commands get through it
 * is tested with them, in test/cli.
 */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Duplex } from "node:stream";

import { lock, reach } from "../../src/disk/lock.ts";
import { openDoor } from "../../src/folder/door.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import type { KeyStore } from "../../src/keys/key-store.ts";
import type { Lock } from "../../src/disk/disk.ts";
import { KeyFolder } from "../support/key-folder.ts";
import { runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";

interface Holder {
  readonly folder: KeyFolder;
  readonly store: KeyStore;
  readonly path: string;
  readonly lock: Lock;
}

/** Who holds a folder, with its door open. Of animals, it takes those that `add` takes. */
async function hold(context: TestContext, add?: () => Promise<{ id: number; json: string }>): Promise<Holder> {
  const folder = new KeyFolder(context);
  const path = join(folder.path, "server.lock");
  const held = await lock(path);
  assert.ok(held);
  context.after(() => held.release());
  const store = await folder.open();
  openDoor(held, { keys: store, store: () => add && { add }, report: (message) => folder.reports.push(message) });
  return { folder, store, path, lock: held };
}

async function send(path: string, text: string): Promise<string> {
  const connection = await reach(path);
  assert.ok(connection);
  connection.end(text);
  return (await connection.setEncoding("utf8").toArray()).join("");
}

const made = '{"door":1,"do":"change"}\n';

test("junk gets an error or the end of its connection, changes nothing, and does no harm", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id } = await store.create();
  const before = await folder.content();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  const junk = [
    "", "\n", "{}", "{}\n", "null\n", "[]\n", '{"door":1}\n', '{"door":2,"do":"list"}\n', '{"door":1,"do":"stop"}\n', "\0\xff\n",
    made, `${made}\n`, `${made}{}\n`, `${made}${revoked.slice(0, -1)}`, `${made}${revoked.replace("revoked", "removed")}`,
    `${made}${revoked.replace(id, "key_000000000000000")}`, '{"door":1,"do":"add"}\n{}\n', "GET / HTTP/1.1\r\n\r\n",
  ];
  for (const text of junk) {
    const response = await send(path, text);
    assert.ok(!response.includes('"done"'), `${JSON.stringify(text)} got ${response}`);
  }
  assert.equal(await folder.content(), before);
  assert.match(await send(path, '{"door":1,"do":"list"}\n'), /^\{"door":1\}\n\{"id":"key_\w{15}",.*\}\n\{"done":true\}\n$/);
});

test("a request beyond its bound is dropped, and so is the one that is sent in very many pieces", async (context) => {
  const { path } = await hold(context);
  assert.equal(await send(path, `{"door":1,"do":"list"}\n${" ".repeat(1_100_000)}`).catch(() => ""), "");
  const connection = await reach(path);
  assert.ok(connection);
  connection.on("error", () => undefined); // It is closed by the other side.
  let isClosed = false;
  connection.on("close", () => (isClosed = true)).resume();
  for (let piece = 0; piece < 100_000 && !isClosed; piece++) {
    await new Promise((resolve) => connection.write("x", () => setImmediate(resolve)));
  }
  assert.ok(isClosed);
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
  assert.match(await send(path, '{"door":1,"do":"list"}\n'), /"done":true/);
  for (let count = 0; count < 10; count++) {
    silent.push((await reach(path))?.on("error", () => undefined).resume() as Duplex); // It listens, so it is reached.
  }
  await until("those beyond the bound are closed", () => silent.filter(({ readableEnded }) => readableEnded).length === 9);
});

test("a request whose sender has gone takes no effect", async (context) => {
  const folder = new KeyFolder(context);
  const path = join(folder.path, "server.lock");
  const held = await lock(path); // Nobody answers yet, as in a process that is stopped.
  assert.ok(held);
  context.after(() => held.release());
  const store = await folder.open();
  const { id } = await store.create();
  for (let count = 0; count < 5; count++) {
    const connection = await reach(path);
    const line = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
    await new Promise<void>((resolve) => connection?.end(`${made}${line}`, resolve));
    connection?.destroy();
  }
  openDoor(held, { keys: store, store: () => undefined, report: () => undefined });
  assert.match(await send(path, '{"door":1,"do":"list"}\n'), /"state":"active"/);
  assert.equal((await folder.lines()).length, 1);
});

test("each change of a key is told in a line that names the key, and no secret", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id, key } = await store.create();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  await send(path, `${made}${revoked}`);
  await send(path, `${made}${revoked}`); // Nothing is left to change.
  await send(path, '{"door":1,"do":"list"}\n');
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
  assert.equal(await send(path, `{"door":1,"do":"add"}\n${line}${line}`), '{"door":1}\n{"added":2}\n{"done":true}\n');
  const failed = await send(path, `{"door":1,"do":"add"}\n${line}`);
  assert.equal(failed, '{"door":1}\n{"added":0}\n{"error":"Error","message":"the disk is full"}\n');
  assert.match(await send(path, `{"door":1,"do":"add"}\n${line.repeat(501)}`), /^\{"door":1\}\n\{"error":/);
  assert.equal(count, 3);
});

test("a holder of an older release, which answers nothing, is told apart: restart the service first", async (context) => {
  const folder = new KeyFolder(context);
  const { id } = await (await folder.open()).create();
  const older = createServer((connection) => connection.resume());
  await new Promise<void>((resolve) => older.listen(join(folder.path, "server.lock"), resolve));
  context.after(() => older.close());
  const content = await folder.content();
  for (const args of [["keys", "list"], ["keys", "create"], ["keys", "revoke", id], ["import", "data/sample.jsonl"]]) {
    const { code, stdout, stderr } = await runHere([...args, "--data", folder.path]);
    assert.deepEqual([code, stdout], [1, ""], args.join(" "));
    assert.match(stderr, /^Cannot [^\n]*older release: restart the service first\n$/);
  }
  assert.equal(await folder.content(), content);
});
