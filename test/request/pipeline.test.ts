/**
 * What the pipeline promises whatever happens in a step: one response, and a process that goes on.
 */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { test, type TestContext } from "node:test";

import { systemClock } from "../../src/base/clock.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openFolder } from "../../src/folder/engine.ts";
import type { Limiter } from "../../src/limits/limiter.ts";
import { Observers } from "../../src/observe/observers.ts";
import { checkOptions } from "../../src/options.ts";
import { Service } from "../../src/service.ts";
import { Listener } from "../../src/wire/listener.ts";
import { say, serve } from "../support/embedding-server.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { runningService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, Wire } from "../support/wire.ts";

interface Limited {
  readonly service: Service;
  readonly server: Server;
  readonly port: number;
  readonly key: string;
  /** The lines of the request log so far. */
  readonly log: () => string;
}

/** A service that asks `take` before each request of a key. */
async function limitedBy(context: TestContext, take: Limiter["take"]): Promise<Limited> {
  const shared = { clock: systemClock, disk: nodeDisk, dataDir: temporaryFolder(context), report: () => undefined };
  const engine = await openFolder({ ...shared, signal: undefined, onGroup: () => undefined });
  const limiter = { take, peek: () => assert.fail("not asked for") };
  const lines: string[] = [];
  const observers = new Observers({ clock: systemClock, hasMetrics: false, writeRequests: (line) => lines.push(line) });
  const service = new Service(checkOptions({ dataDir: shared.dataDir }), { ...engine, limiter }, { clock: systemClock, observers });
  const listener = new Listener(service.pipeline);
  await new Promise<void>((resolve) => listener.server.listen(0, "127.0.0.1", resolve));
  context.after(async () => {
    await listener.stop(0);
    await service.close();
  });
  const { port } = listener.server.address() as AddressInfo;
  const { key } = await service.keys.create();
  const log = (): string => {
    observers.flush();
    return lines.join("");
  };
  return { service, server: listener.server, port, key, log };
}

const rate = { limit: 60, remaining: 60, resetSeconds: 1_900_000_000 };

test("while the limits cannot be reached, 503 has the fields of its route, and is counted for it", async (context) => {
  const { port, key, log } = await limitedBy(context, () => ({ kind: "unavailable", ...rate }));
  const response = await exchange(port, request({ target: "/v1/pets/1", key }));
  assert.equal(codeOf(response), "storage_unavailable");
  assertPromised(response);
  for (const name of ["deprecation", "sunset", "link"]) {
    assert.notEqual(response.value(name), undefined, name);
  }
  assert.match(log(), /"route":"\/pets\/\{petId\}","status":503/);
});

/** As `limitedBy`, with a limiter that allows the last request when `decide` is called. */
async function undecided(context: TestContext): Promise<Limited & { readonly decide: () => void; readonly asked: Promise<void> }> {
  const allowed = { kind: "allowed", ...rate, quotas: () => ({ minute: rate, day: rate }) } as const;
  let decide = (): void => undefined;
  let onAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const limited = await limitedBy(context, () => new Promise((resolve) => {
    decide = () => resolve(allowed);
    onAsked();
  }));
  return { ...limited, decide: () => decide(), asked };
}

test("content that is damaged while the limiter decides is 400", async (context) => {
  const { server, port, key, decide } = await undecided(context);
  const wire = await Wire.open(port);
  const asked = once(server, "request");
  wire.send(request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"] }));
  await asked;
  const damaged = once(server, "clientError");
  wire.send("zz\r\n");
  await damaged;
  decide();
  assert.equal(codeOf(await wire.response()), "malformed_request");
  wire.destroy();
});

test("the line of a create whose client has gone while the limiter decides has status 0", async (context) => {
  const { server, port, key, log, decide, asked } = await undecided(context);
  const connected = once(server, "connection");
  const wire = await Wire.open(port);
  const [socket] = (await connected) as [Socket];
  wire.send(request({ method: "POST", key, fields: ["Content-Length: 29"] }));
  await asked;
  wire.socket.resetAndDestroy();
  await new Promise((resolve) => socket.once("close", resolve));
  decide();
  await exchange(port, request({ target: "/healthz" }));
  assert.match(log(), /"route":"\/pets","status":0.*\n.*"status":200/);
});

test("a guarded request reaches its route when the limiter has decided, unless it has a response by then or its client is gone", async (context) => {
  const { service, key, log, decide } = await undecided(context);
  const events = new EventEmitter();
  let passedCount = 0;
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => {
      passedCount++;
      say(outgoing, "own");
    });
    events.emit("guarded", outgoing);
  });
  const meanwhile = [
    ["own", () => undefined],
    ["late", (_wire: Wire, outgoing: ServerResponse) => say(outgoing, "late")],
    ["gone", async (wire: Wire, outgoing: ServerResponse) => {
      wire.socket.resetAndDestroy();
      await once(outgoing, "close");
    }],
  ] as const;
  for (const [content, happen] of meanwhile) {
    const wire = await Wire.open(port);
    const guarded = once(events, "guarded");
    wire.send(request({ target: "/own", key }));
    const [outgoing] = (await guarded) as [ServerResponse];
    await happen(wire, outgoing);
    decide();
    if (content !== "gone") {
      assert.equal((await wire.response()).content, content);
    }
    wire.destroy();
  }
  await new Promise((resolve) => setImmediate(resolve)); // Now the last one has been decided.
  assert.equal(passedCount, 1);
  assert.deepEqual(log().match(/(?<="route":"guard","status":)\d+/g), ["200", "0", "0"]);
});

test("a wrong key on a request that is refused for its message is charged to the address", async (context) => {
  const running = await runningService(context, { clock: new ManualClock() });
  const wrong = `as_${"w".repeat(43)}`;
  const noHost = (key: string): Buffer =>
    Buffer.from(`GET /v1/pets HTTP/1.1\r\n${key === "" ? "" : `Authorization: Bearer ${key}\r\n`}\r\n`);
  for (let left = 59; left >= 0; left--) {
    const response = await exchange(running.port, noHost(wrong), "GET");
    assert.deepEqual([response.status, response.value("x-ratelimit-remaining")], [400, String(left)]);
  }
  const beyond = await exchange(running.port, noHost(wrong), "GET");
  assert.deepEqual([codeOf(beyond), beyond.value("x-ratelimit-remaining")], ["malformed_request", "0"]);
  assert.equal(codeOf(await exchange(running.port, request({ key: wrong }))), "too_many_failures");
});
