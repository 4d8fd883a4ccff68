/**
 * `handle()` in another program: beside other middleware, mounted more than once, and after `close()`.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";

import { type AnimalStore, type AnimalStoreOptions, ContentTakenError, DatabaseError, openAnimalStore } from "../../src/index.ts";
import { checkOptions } from "../../src/options.ts";
import { openService } from "../../src/service.ts";
import { say, serve } from "../support/embedding-server.ts";
import { GatedStore } from "../support/gated-store.ts";
import { root } from "../support/root.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

interface Opened {
  readonly service: AnimalStore;
  /** Of the Free plan. */
  readonly key: string;
}

async function open(context: TestContext, report: (message: string) => void = () => undefined): Promise<Opened> {
  const service = await openAnimalStore({ dataDir: temporaryFolder(context), report });
  context.after(() => service.close());
  const { key } = await service.keys.create({ plan: "free" });
  return { service, key };
}

/** As Connect and Express mount below a prefix. */
function cutOff(prefix: string, incoming: IncomingMessage & { originalUrl?: string }): void {
  incoming.originalUrl = incoming.url ?? "";
  incoming.url = incoming.originalUrl.slice(prefix.length);
}

test("handle() takes an X-Request-Id that the program sets, so that its log has the id of the response", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => {
    incoming.headers["x-request-id"] = "from-the-program";
    service.handle(incoming, outgoing);
  });
  for (const fields of [[], ["X-Request-Id: from-the-client"]]) {
    const response = await exchange(port, request({ key, fields }));
    assert.equal(response.value("x-request-id"), "from-the-program");
  }
});

test("handle() ignores a request that already has a response: no token is taken, nothing is added or written", async (context) => {
  const { service, key } = await open(context);
  let calls = 0;
  const port = await serve(context, (incoming, outgoing) => {
    if (incoming.headers["x-forbidden"] !== undefined) {
      outgoing.writeHead(403, { "Content-Length": 2 }).end("no");
    }
    calls++;
    service.handle(incoming, outgoing, () => assert.fail("next is called"));
  });
  const fields = ["X-Forbidden: yes"];
  for (const parts of [{ key }, {}, { method: "POST", key, content: rex }, { method: "POST", content: rex }]) {
    const response = await exchange(port, request({ ...parts, fields }));
    assert.deepEqual([response.status, response.content], [403, "no"]);
  }
  const list = await exchange(port, request({ key }));
  assert.deepEqual([list.status, list.content, list.value("x-ratelimit-remaining")], [200, "[]", "59"]);
  assert.equal(calls, 5);
});

test("outside the base path handle() calls next, or without it responds as the server does", async (context) => {
  const { service, key } = await open(context);
  const withNext = await serve(context, (incoming, outgoing) => service.handle(incoming, outgoing, () => say(outgoing, "elsewhere")));
  const alone = await serve(context, (incoming, outgoing) => service.handle(incoming, outgoing));
  for (const [status, content, parts] of [
    [200, /^\{"status":"ok"\}$/, { target: "/healthz" }],
    [200, /^\{"openapi":/, { target: "/openapi.json" }],
    [401, /"missing_api_key"/, { target: "/" }],
    [404, /"route_not_found"/, { target: "/", key }],
    [404, /"route_not_found"/, { target: "/pets", key }],
  ] as const) {
    const passed = await exchange(withNext, request(parts));
    assert.deepEqual([passed.status, passed.content], [200, "elsewhere"]);
    const response = await exchange(alone, request(parts));
    assert.equal(response.status, status);
    assert.match(response.content, content);
  }
});

test("handle() sends nothing if the program has responded first", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => {
    service.handle(incoming, outgoing);
    if (!outgoing.headersSent) {
      outgoing.writeHead(504, { "Content-Length": 4 }).end("late");
    }
  });
  const length = "Content-Length: 29";
  for (const parts of [{ fields: [length] }, { key, fields: [length, "Content-Type: text/plain"] }]) {
    const wire = await Wire.open(port);
    wire.send(request({ method: "POST", ...parts }));
    const response = await wire.response();
    assert.deepEqual([response.status, response.content], [504, "late"]);
    wire.send(rex.padEnd(29));
    wire.send(request({ method: "GET", target: "/healthz" }));
    assert.equal((await wire.response()).status, 200);
    wire.destroy();
  }
});

test("handle() sends nothing if the program has responded while an animal was being stored", async (context) => {
  const store = new GatedStore();
  const reports: string[] = [];
  const checked = checkOptions({ dataDir: temporaryFolder(context), report: (message) => reports.push(message) });
  const service = await openService(checked, { store });
  context.after(() => service.close());
  const { key } = await service.keys.create({ plan: "free" });
  const port = await serve(context, (incoming, outgoing) => {
    service.handle(incoming, outgoing);
    void store.added(1).then(() => {
      say(outgoing, "late");
      store.open();
    });
  });
  assert.equal((await exchange(port, request({ method: "POST", key, content: rex }))).content, "late");
  assert.deepEqual(reports, []);
});

test("handle() below two prefixes responds once, with links below the prefix of the request", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => {
    const prefix = /^\/(?:shop|store)(?=\/)/.exec(incoming.url ?? "")?.[0] ?? "";
    cutOff(prefix, incoming);
    service.handle(incoming, outgoing, () => say(outgoing, "elsewhere"));
  });
  for (const [prefix, id] of [["/shop", 1], ["/store", 2], ["", 3]] as const) {
    const created = await exchange(port, request({ method: "POST", target: `${prefix}/v1/pets`, key, content: rex }));
    assert.deepEqual([created.status, created.value("location")], [201, `${prefix}/v1/pets/${id}`]);
    const fetched = await exchange(port, request({ target: `${prefix}/v1/pets/${id}`, key }));
    assert.equal(fetched.value("link"), `<${prefix}/v1/pets>; rel="successor-version"`);
  }
  assert.equal((await exchange(port, request({ target: "/shop/pets", key }))).content, "elsewhere");
});

test("handle() mounted twice in a row adds an animal once and takes a token once", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => {
    service.handle(incoming, outgoing, () => service.handle(incoming, outgoing, () => say(outgoing, "elsewhere")));
  });
  const created = await exchange(port, request({ method: "POST", key, content: rex }));
  assert.deepEqual([created.status, created.value("x-ratelimit-remaining")], [201, "59"]);
  const list = await exchange(port, request({ key }));
  assert.deepEqual([list.content, list.value("x-ratelimit-remaining")], [`[${created.content}]`, "58"]);
  assert.equal((await exchange(port, request({ target: "/", key }))).content, "elsewhere");
});

test("content that a body parser has read, empty content too, is reported to next or is 500 with a line", async (context) => {
  for (const hasNext of [true, false]) {
    const reports: string[] = [];
    const { service, key } = await open(context, (message) => reports.push(message));
    const port = await serve(context, (incoming, outgoing) => {
      incoming.on("end", () => {
        const next = (error?: unknown): void => say(outgoing, `${error instanceof ContentTakenError} ${error}`);
        service.handle(incoming, outgoing, ...(hasNext ? [next] : []));
      });
      incoming.resume();
    });
    for (const framing of ["Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]) {
      const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
      const response = await exchange(port, head + framing, "POST");
      assert.match(response.content, hasNext ? /^true ContentTakenError: Cannot read the body/ : /"internal_error"/);
    }
    assert.equal(reports.filter((line) => line.includes("another parser has read it")).length, hasNext ? 0 : 2);
  }
});

const spoiled: Readonly<Record<string, (incoming: IncomingMessage, handle: (done: unknown) => void) => void>> = {
  "of which the program has read a part": (incoming, handle) => incoming.once("readable", () => handle(incoming.read(1))),
  "that would arrive as text, not as the bytes that were sent": (incoming, handle) => handle(incoming.setEncoding("utf8")),
};
for (const [what, spoil] of Object.entries(spoiled)) {
  test(`content ${what} is reported to next`, async (context) => {
    const { service, key } = await open(context);
    const port = await serve(context, (incoming, outgoing) => {
      spoil(incoming, () => service.handle(incoming, outgoing, (error) => say(outgoing, String(error))));
    });
    const response = await exchange(port, request({ method: "POST", key, content: rex }));
    assert.match(response.content, /^ContentTakenError: /);
  });
}

test("a listener of the program gets the whole content, also of a request whose content is too large", async (context) => {
  const { service, key } = await open(context);
  let seen: Promise<string> | undefined;
  const port = await serve(context, (incoming, outgoing) => {
    seen = new Promise((resolve) => {
      let bytes = "";
      incoming.on("data", (piece: Buffer) => (bytes += piece.toString()));
      incoming.on("close", () => resolve(bytes));
    });
    service.handle(incoming, outgoing);
  });
  const wire = await Wire.open(port);
  const fields = `Host: a\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  wire.send(`POST /v1/pets HTTP/1.1\r\n${fields}4e20\r\n${"x".repeat(20_000)}\r\n`);
  assert.equal((await wire.response()).status, 413);
  wire.send(`2710\r\n${"x".repeat(10_000)}\r\n0\r\n\r\n`);
  assert.equal((await seen)?.length, 30_000);
  wire.destroy();
});

test("a request from an HTTP/2 server is refused with an error that says so, to next or as 500, and by guard() as 500", async (context) => {
  const reports: string[] = [];
  const { service } = await open(context, (message) => reports.push(message));
  const errors: unknown[] = [];
  const server = createHttp2Server((incoming, outgoing) => {
    const next = (error?: unknown): void => {
      errors.push(error);
      outgoing.end("passed on");
    };
    // Embedders in JavaScript have no compiler to stop them.
    const [asked, response] = [incoming as unknown as IncomingMessage, outgoing as unknown as ServerResponse];
    if (incoming.headers["by"] === "guard") {
      service.guard(asked, response, next);
    } else {
      service.handle(asked, response, ...(incoming.headers["by"] === "next" ? [next] : []));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  context.after(() => {
    session.destroy(); // Or a test that has failed would wait for it.
    server.close();
  });
  for (const [by, path] of [["next", "/v1/pets"], ["next", "/other"], ["handle", "/v1/pets"], ["handle", "/other"], ["guard", "/own"]]) {
    const stream = session.request({ ":path": path, by });
    const content = text(stream);
    const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(fields[":status"], by === "next" ? 200 : 500);
    assert.match(await content, by === "next" ? /^passed on$/ : /"internal_error"/);
  }
  const words = "Cannot handle an HTTP/2 request: serve the animal store over HTTP/1.1";
  assert.equal((errors[0] as Error).message, words);
  assert.deepEqual([errors.length, errors[1]], [2, undefined], "outside the base path next() is called as always");
  assert.deepEqual(reports, Array(3).fill(words));
});

test("in an embedding server too, no request is handled after one that was refused for its message", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => service.handle(incoming, outgoing));
  const wire = await Wire.open(port);
  const faulty = request({ key, fields: ["Host: a", "Host: b"] });
  wire.send(Buffer.concat([faulty, request({ method: "POST", key, content: rex })]));
  const response = await wire.response();
  assert.deepEqual([response.status, response.value("connection")], [400, "close"]);
  assert.equal((await wire.closed()).rest, "");
  assert.equal((await exchange(port, request({ key }))).value("x-ratelimit-remaining"), "59", "one token for this");
});

test("in an embedding server too, no request is handled after a response of ours that closes the connection", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => service.handle(incoming, outgoing));
  for (const early of [{ fields: ["Content-Type: text/plain"], key }, {}]) {
    const refused = request({ method: "POST", content: rex, ...early });
    const wire = await Wire.open(port);
    wire.send(refused.subarray(0, -rex.length));
    assert.equal((await wire.response()).value("connection"), "close");
    wire.send(Buffer.concat([refused.subarray(-rex.length), request({ target: "/v1/limits", key })]));
    assert.equal((await wire.closed()).rest, "");
  }
  assert.equal((await exchange(port, request({ key }))).value("x-ratelimit-remaining"), "58", "one token for the 415, one for this");
});

test("two services in one server do not affect each other: each has its own keys, animals and limits", async (context) => {
  const [one, other] = [await open(context), await open(context)];
  const port = await serve(context, (incoming, outgoing) => {
    const prefix = incoming.url?.startsWith("/one/") === true ? "/one" : "/other";
    cutOff(prefix, incoming);
    (prefix === "/one" ? one : other).service.handle(incoming, outgoing);
  });
  for (const [prefix, { key }] of [["/one", one], ["/other", other]] as const) {
    const created = await exchange(port, request({ method: "POST", target: `${prefix}/v1/pets`, key, content: rex }));
    assert.deepEqual([created.value("location"), created.value("x-ratelimit-remaining")], [`${prefix}/v1/pets/1`, "59"]);
  }
  assert.equal((await exchange(port, request({ target: "/other/v1/pets", key: one.key }))).status, 401);
  await one.service.close();
  assert.equal((await exchange(port, request({ target: "/other/v1/pets", key: other.key }))).status, 200);
});

test("From close() on creates return 503, reads still work, and no connection is kept", async (context) => {
  const { service, key } = await open(context);
  const port = await serve(context, (incoming, outgoing) => {
    service.handle(incoming, outgoing, () => say(outgoing, "elsewhere"));
  });
  const created = await exchange(port, request({ method: "POST", key, content: rex }));
  const closing = service.close();
  assert.equal((await exchange(port, request({ method: "POST", key, content: rex }))).status, 503, "from the call on");
  await closing;
  for (const [status, content, parts] of [
    [503, /"storage_unavailable"/, { method: "POST", key, content: rex }],
    [200, /^\[/, { key }],
    [200, /^\{"id":1,/, { target: "/v1/pets/1", key }],
    [401, /"missing_api_key"/, {}],
  ] as const) {
    const response = await exchange(port, request(parts));
    assert.deepEqual([response.status, response.value("connection")], [status, "close"]);
    assert.match(response.content, content);
  }
  assert.equal((await exchange(port, request({ key }))).content, `[${created.content}]`);
  assert.equal(service.healthy, false);
  const other = await exchange(port, request({ target: "/", key }));
  assert.deepEqual([other.content, other.value("connection")], ["elsewhere", "keep-alive"], "what is not ours is not touched");
});

test("close() resolves after the responses to the creates under way have been sent", async (context) => {
  const store = new GatedStore();
  const add = store.add.bind(store);
  store.add = async (newPet) => {
    const stored = await add(newPet);
    for (let hands = 0; hands < 9; hands++) {
      await undefined; // As through the layers of a database's client: closing meanwhile goes on.
    }
    return stored;
  };
  const checked = checkOptions({ dataDir: "/data", report: assert.fail });
  // On this disk nothing takes longer than a promise, so closing does not come late by chance.
  const service = await openService(checked, { store, disk: new SimulatedDisk(new SeededRandom(1)).boot() });
  const { key } = await service.keys.create({ plan: "free" });
  let sentCount = 0;
  const port = await serve(context, (incoming, outgoing) => {
    outgoing.on("prefinish", () => sentCount++);
    service.handle(incoming, outgoing);
  });
  const exchanges = [1, 2, 3].map(() => exchange(port, request({ method: "POST", key, content: rex })));
  await store.added(3);
  await service.close();
  assert.equal(sentCount, 3);
  assert.deepEqual((await Promise.all(exchanges)).map(({ status }) => status), [201, 201, 201]);
});

test("an embedded service makes no key by itself", async (context) => {
  const service = await openAnimalStore({ dataDir: temporaryFolder(context), report: () => undefined });
  const keys = await service.keys.list();
  await service.close();
  assert.deepEqual(keys, []);
});

test("openAnimalStore() and keys.create() refuse wrong options with an error that names them", async (context) => {
  const { service } = await open(context);
  const options: readonly [unknown, RegExp][] = [
    [undefined, /^Cannot open animal store: options must be an object/],
    [null, /^Cannot open animal store: options must be an object/],
    [{ dataDir: "never-made", report: "x" }, /^Cannot open animal store: report must be a function$/],
    [{ dataDir: "never-made", lable: "x" }, /^Cannot open animal store: there is no option "lable"$/],
  ];
  for (const [given, message] of options) {
    await assert.rejects(openAnimalStore(given as AnimalStoreOptions), { name: "RangeError", message }); // Wrong on purpose.
  }
  const choices: readonly [unknown, RegExp][] = [
    ["pro", /^Cannot create key: options must be an object/],
    [{ lable: "x" }, /^Cannot create key: there is no option "lable"$/],
  ];
  for (const [given, message] of choices) {
    await assert.rejects(service.keys.create(given as object), { name: "RangeError", message });
  }
  assert.equal((await service.keys.list()).length, 1);
});

test("openAnimalStore() rejects with a DatabaseError if the database cannot be reached", async () => {
  const away = new Error("away");
  const database = { connect: () => Promise.reject(away), on: () => undefined, off: () => undefined };
  await assert.rejects(openAnimalStore({ database }), (error) => error instanceof DatabaseError && error.cause === away);
});

test("handle() closes the connection of a request with Upgrade, and nothing behind it reaches the program", async (context) => {
  const { service, key } = await open(context);
  let count = 0;
  const port = await serve(context, (incoming, outgoing) => {
    count++;
    service.handle(incoming, outgoing);
  });
  const wire = await Wire.open(port);
  const created = request({ method: "POST", key, fields: ["Connection: Upgrade", "Upgrade: h2c"], content: rex });
  wire.send(created.subarray(0, -1));
  await exchange(port, request({ target: "/healthz" }));
  wire.send(Buffer.concat([created.subarray(-1), request({ key })])).send(request({ key }));
  const response = await wire.response();
  assert.deepEqual([response.status, response.value("connection")], [201, "close"]);
  assert.deepEqual([await wire.closed(), count], [{ ending: "end", rest: "" }, 2]);
});

test("a program that never closes its service ends when it has nothing else to do", async (context) => {
  const dataDir = temporaryFolder(context);
  const index = join(root, "build/src/index.js");
  const program = `
    import { openAnimalStore } from ${JSON.stringify(index)};
    await openAnimalStore({ dataDir: ${JSON.stringify(dataDir)} });
    console.log("opened");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { timeout: 15_000 });
  assert.equal(stdout, "opened\n");
});
