/**
 * The control socket beside clients that send junk, say nothing, give up, or are of another release. What commands get
 * is tested with them, in test/cli.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
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

/** Sends a request to the end, as "list" needs it. */
async function send(path: string, text: string): Promise<string> {
  const connection = await reach(path);
  assert.ok(connection);
  connection.end(text);
  return (await connection.setEncoding("utf8").toArray()).join("");
}

/** Sends a request that has an effect, and answers the first line of its response. */
async function ask(path: string, text: string): Promise<string> {
  const connection = await reach(path);
  assert.ok(connection);
  connection.write(`${text}\n`);
  connection.once("readable", () => connection.end("\n"));
  return (await connection.setEncoding("utf8").toArray()).join("");
}

const made = '{"door":2,"do":"change"}\n';

test("junk gets an error or the end of its connection, changes nothing, and does no harm", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id } = await store.create();
  const before = await folder.content();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  const junk = [
    "", "\n", "{}", "{}\n", "null\n", "[]\n", '{"door":2}\n', '{"door":1,"do":"list"}\n', '{"door":2,"do":"stop"}\n', "\0\xff\n",
    made, `${made}\n`, `${made}{}\n`, `${made}${revoked.slice(0, -1)}`, `${made}${revoked.replace("revoked", "removed")}`,
    `${made}${revoked.replace(id, "key_000000000000000")}`, '{"door":2,"do":"add"}\n{}\n', "GET / HTTP/1.1\r\n\r\n",
  ];
  await passTime(context, () => Promise.all(junk.map(async (text) => {
    for (const response of [await send(path, text), text === "" ? "" : await ask(path, text).catch(() => "")]) {
      assert.ok(!response.includes('"done"'), `${JSON.stringify(text)} got ${response}`);
    }
  })));
  assert.equal(await folder.content(), before);
  assert.match(await send(path, '{"door":2,"do":"list"}\n'), /^\{"door":2\}\n\{"id":"key_\w{15}",.*\}\n\{"done":true\}\n$/);
});

test("a request beyond its bound is dropped, also in small pieces, and one in very many pieces within it is answered", async (context) => {
  const { path } = await hold(context);
  assert.equal(await send(path, `{"door":2,"do":"list"}\n${" ".repeat(1_100_000)}`).catch(() => ""), "");
  const inPieces = async (byteCount: number, pieceBytes: number): Promise<string> => {
    const connection = await reach(path);
    assert.ok(connection);
    connection.on("error", () => undefined); // One beyond the bound is closed by the other side.
    let [text, isClosed] = ["", false];
    connection.on("close", () => (isClosed = true)).setEncoding("utf8").on("data", (more: string) => (text += more));
    connection.write('{"door":2,"do":"list"}\n');
    for (let sent = 0; sent < byteCount && !isClosed; sent += pieceBytes) {
      await new Promise((resolve) => connection.write(" ".repeat(pieceBytes), () => setImmediate(resolve)));
    }
    connection.end("\n");
    await until("the connection is closed", () => isClosed);
    return text;
  };
  assert.match(await inPieces(3_000, 1), /"done":true/);
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
  assert.match(await send(path, '{"door":2,"do":"list"}\n'), /"done":true/);
  for (let count = 0; count < 10; count++) {
    silent.push((await reach(path))?.on("error", () => undefined).resume() as Duplex); // It listens, so it is reached.
  }
  await until("those beyond the bound are closed", () => silent.filter(({ readableEnded }) => readableEnded).length === 9);
});

test("what was given up before the first line never takes effect: while the lock's owner was stopped, or behind others", async (context) => {
  const folder = new KeyFolder(context);
  const path = join(folder.path, "server.lock");
  const held = await lock(path); // Nobody answers yet, as in a process that is stopped.
  assert.ok(held);
  context.after(() => held.release());
  const store = await folder.open();
  const { id } = await store.create();
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id });
  const connect = async (): Promise<Duplex> => {
    const connection = await reach(path);
    assert.ok(connection);
    await new Promise((resolve) => connection.write(`${made}${revoked}\n`, resolve));
    return connection;
  };
  for (let count = 0; count < 5; count++) {
    (await connect()).destroy();
  }
  const first = await connect(); // Has its turn, and does not answer.
  const behind = await connect();
  openControlServer(held, { keys: store, store: () => undefined, report: () => undefined });
  assert.equal(String(await new Promise((resolve) => first.once("data", resolve))), '{"door":2}\n');
  behind.destroy();
  first.destroy(); // The first line has come, but it was never seen.
  const other = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id: "key_000000000000000" });
  assert.match(await ask(path, `${made}${other}`), /"unknown_key"/); // Behind all of them.
  assert.match(await send(path, '{"door":2,"do":"list"}\n'), /"state":"active"/);
  assert.equal((await folder.lines()).length, 1);
});

test("a command that does not answer the first line holds up others for a second, and is told that nothing was done", async (context) => {
  const { folder, store, path } = await hold(context);
  const { id } = await store.create();
  const stopped = await reach(path);
  assert.ok(stopped);
  stopped.write(`${made}${encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id })}\n`);
  const label = encodeKeyEvent({ event: "label", timeMs: folder.clock.wallMs(), id, label: "till" });
  assert.match(await passTime(context, () => ask(path, `${made}${label}`)), /"done":true/);
  assert.match((await stopped.setEncoding("utf8").toArray()).join(""), /^\{"door":2\}\n\{"error":"NotReadyError",.*nothing was done/);
  assert.match(await send(path, '{"door":2,"do":"list"}\n'), /"state":"active"/);
});

test("a command of another release is told so in a sentence, and one of 2.1, which greets first, is greeted", async (context) => {
  const { path } = await hold(context);
  const other = "the process that holds the folder is of another release: use that one, or restart it";
  assert.ok((await send(path, '{"door":1,"do":"change"}\n{}\n')).includes(`"message":"${other}"`));
  assert.equal(await send(path, '{"door":2,"do":"greet"}\n'), '{"door":2}\n{"done":true}\n');
});

/** A folder whose owner answers a request with the first line, and what `then` does with the connection. */
async function heldBy(context: TestContext, then: (connection: Duplex, request: string) => void): Promise<string> {
  const path = temporaryFolder(context);
  const held = await lock(join(path, "server.lock"));
  assert.ok(held);
  context.after(() => held.release());
  held.answer((connection) => {
    let request = "";
    connection.setEncoding("utf8").on("data", (text: string) => {
      request += text;
      if (request.endsWith("\n\n\n")) {
        then(connection, request); // The command has answered the first line.
      } else if (request.endsWith("\n\n")) {
        connection.write('{"door":2}\n');
      }
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
    assert.ok(stderr.endsWith(`took the request and ${what}: it may have effect\n`), stderr);
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
  await ask(path, `${made}${revoked}`);
  await ask(path, `${made}${revoked}`); // Nothing is left to change.
  await send(path, '{"door":2,"do":"list"}\n');
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
  assert.equal(await ask(path, `{"door":2,"do":"add"}\n${line}${line}`), '{"door":2}\n{"added":2}\n{"done":true}\n');
  const failed = await ask(path, `{"door":2,"do":"add"}\n${line}`);
  assert.equal(failed, '{"door":2}\n{"added":0}\n{"error":"Error","message":"the disk is full"}\n');
  assert.match(await ask(path, `{"door":2,"do":"add"}\n${line.repeat(501)}`), /^\{"door":2\}\n\{"error":/);
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

test("a list that nobody reads holds up no stop", async (context) => {
  const { folder, lock: held, path } = await hold(context);
  await folder.open().then((keys) => keys.create());
  const [key] = await (await folder.open()).list();
  assert.ok(key);
  const keys = { list: async () => Array.from({ length: 20_000 }, () => key), change: async () => assert.fail() };
  const close = openControlServer(held, { keys, store: () => undefined, report: assert.fail });
  const connection = await reach(path);
  assert.ok(connection);
  connection.end('{"door":2,"do":"list"}\n');
  await new Promise((resolve) => connection.once("readable", resolve));
  const beganMs = performance.now();
  await close();
  assert.ok(performance.now() - beganMs < 5_000);
});

test("a command that was stopped, before or after it answers the first line, holds up a stop for a second at most", async (context) => {
  const { folder, store, path, lock: held } = await hold(context);
  const { id } = await store.create();
  const close = openControlServer(held, { keys: store, store: () => undefined, report: () => undefined });
  const connect = async (): Promise<Duplex> => {
    const connection = await reach(path);
    assert.ok(connection);
    connection.write(`${made}${encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id })}\n`);
    return connection;
  };
  const answering = await connect();
  await new Promise((resolve) => answering.once("data", resolve));
  answering.pause().write("\n");
  await until("the change is made", () => store.keyring.get(id)?.revokedMs !== undefined);
  const stopped = [await connect(), await connect()]; // One has its turn, the other waits behind it.
  await new Promise((resolve) => stopped[0]?.once("readable", resolve));
  const beganMs = performance.now();
  await close();
  assert.ok(performance.now() - beganMs < 5_000);
  for (const connection of stopped) {
    assert.match((await connection.setEncoding("utf8").toArray()).join(""), /"error":"NotReadyError"/);
  }
  assert.match((await answering.setEncoding("utf8").toArray()).join(""), /\{"done":true\}\n$/);
});

test("a list that is cut off, as by a restart, is asked for again", async (context) => {
  const folder = new KeyFolder(context);
  const { id } = await (await folder.open()).create();
  const stopping = createServer((connection) => {
    connection.on("error", () => undefined).once("data", () => {
      stopping.close();
      connection.end('{"door":2}\n{"id":"key_');
    });
  });
  await new Promise<void>((resolve) => stopping.listen(join(folder.path, "server.lock"), resolve));
  const { code, stdout } = await runHere(["keys", "list", "--json", "--data", folder.path]);
  assert.deepEqual([code, (JSON.parse(stdout) as { readonly id: string }).id], [0, id]);
});
