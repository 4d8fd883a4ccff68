/** Requests that adapters and mocks make without a connection, for `handle()` and `guard()`. */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { ReadableStream as WebStream } from "node:stream/web";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { ContentTakenError } from "../../src/index.ts";
import { runningService } from "../support/running-service.ts";
import { petOfBytes, rex } from "../support/wire.ts";

interface Made {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string;
}

/** As fetch-to-node makes it of a `Request`: Node's own object, whose socket is null. */
function withoutSocket({ method, headers, content }: Made): IncomingMessage {
  const incoming = new IncomingMessage(null as unknown as Socket); // The types do not know that Node takes it.
  Object.assign(incoming, { method, url: "/v1/pets", httpVersion: "1.1", httpVersionMajor: 1, headers });
  incoming.push(content === "" ? null : content);
  if (content !== "") {
    incoming.push(null);
  }
  return incoming;
}

/** As node-mocks-http makes it: no stream, but an object that emits the events of one. */
function mocked({ method, headers, content }: Made): IncomingMessage {
  const incoming = Object.assign(new EventEmitter(), { method, url: "/v1/pets", headers });
  setImmediate(() => {
    incoming.emit("data", Buffer.from(content));
    incoming.emit("end");
  });
  return incoming as unknown as IncomingMessage; // It lacks most of it: that is what the test is about.
}

/** As Fastify's `inject` makes it: a stream with the fields of a request, on a socket that only emits events. */
function injected({ method, headers, content }: Made): IncomingMessage {
  const stream = Readable.from(content === "" ? [] : [Buffer.from(content)]);
  const line = { method, url: "/v1/pets", httpVersion: "1.1", httpVersionMajor: 1 };
  return Object.assign(stream, line, { headers, socket: new EventEmitter() }) as unknown as IncomingMessage; // As above.
}

test("a request without a socket, of an adapter or a mock, is served by handle() and guard() like the others", async (context) => {
  const { service, key, reports } = await runningService(context);
  const authorization = `Bearer ${key}`;
  const length = (content: string): Record<string, string> => ({ "content-length": String(content.length) });
  const rows: readonly (readonly [method: string, fields: Record<string, string>, content: string, status: number])[] = [
    ["GET", { authorization }, "", 200],
    ["HEAD", { authorization }, "", 200],
    ["POST", { authorization }, rex, 201],
    ["POST", { authorization }, petOfBytes(20_000), 413],
    ["POST", {}, rex, 401],
    ["GET", { authorization, "transfer-encoding": "gzip" }, "", 400],
    ["GET", { authorization, upgrade: "h2c" }, "", 200],
  ];
  for (const make of [withoutSocket, mocked, injected]) {
    for (const [method, fields, content, status] of rows) {
      const headers = { host: "localhost", ...(content !== "" && length(content)), ...fields };
      for (const way of ["handle", "guard"] as const) {
        const incoming = make({ method, headers, content });
        const outgoing = new ServerResponse(incoming);
        const received = new PassThrough();
        outgoing.assignSocket(received as unknown as Socket); // Any stream will do for it.
        outgoing.once("finish", () => received.end());
        const closed = once(received, "end");
        service[way](incoming, outgoing, () => outgoing.writeHead(299).end());
        const expected = way === "guard" && fields["authorization"] !== undefined && status !== 400 ? 299 : status;
        const response = await text(received);
        assert.equal(response.split(" ", 2)[1], String(expected), `${make.name}, ${way}(), ${method} ${content.length}`);
        // If the content that was read did not count as whole, its response would come late and say "close".
        assert.ok(make !== injected || expected !== 201 || response.includes("Connection: keep-alive\r\n"));
        await closed;
      }
    }
  }
  assert.deepEqual(reports, []);
});

test("a mock whose content is an object already is told so, as content that a parser has read", async (context) => {
  const { service, key } = await runningService(context);
  const headers = { host: "localhost", authorization: `Bearer ${key}`, "content-length": String(rex.length) };
  const incoming = Object.assign(mocked({ method: "POST", headers, content: "" }), { body: { name: "Rex", categoryId: 5 } });
  const error = await new Promise((resolve) => service.handle(incoming, new ServerResponse(incoming), resolve));
  assert.ok(error instanceof ContentTakenError);
});

test("an upload that an adapter made of a Web request, and that breaks off, ends no process, with a key or without", async (context) => {
  const { service, key } = await runningService(context);
  for (const authorization of [`Bearer ${key}`, "Bearer none"]) {
    let breakOff: () => void = assert.fail;
    const body = new ReadableStream<Uint8Array>({
      start: (sender) => {
        sender.enqueue(Buffer.from('{"name":'));
        breakOff = () => sender.error(new Error("the client has left"));
      },
    });
    const headers = { host: "a", authorization, "transfer-encoding": "chunked" };
    const made = Object.assign(Readable.fromWeb(body as WebStream), { method: "POST", url: "/v1/pets", headers });
    const incoming = made as unknown as IncomingMessage; // It lacks most of it, as that of an adapter does.
    const closed = new Promise((resolve) => made.on("close", resolve)); // `once` would listen for errors, too.
    service.handle(incoming, new ServerResponse(incoming));
    breakOff();
    await closed;
    await turn();
  }
});
