/**
 * `guard()` and `keyOf()`: the keys and limits of the API, for routes of the program around.
 */

import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";

import { openAnimalStore } from "../../src/index.ts";
import { Observers } from "../../src/observe/observers.ts";
import { say, serve } from "../support/embedding-server.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { keyWithQuota, type RunningService, runningService, type Start } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

interface Guarded extends RunningService {
  /** Where the program has its route. */
  readonly ownPort: number;
  readonly clock: ManualClock;
}

/** A program with one route, which says whose request it is. */
async function guarded(context: TestContext, start: Start = {}): Promise<Guarded> {
  const clock = new ManualClock();
  const running = await runningService(context, { clock, ...start });
  const { service } = running;
  const ownPort = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => say(outgoing, JSON.stringify(service.keyOf(incoming))));
  });
  return { ...running, ownPort, clock };
}

const target = "/own";

test("guard() passes a request with a key on, with its id and its rate, and keyOf() then says whose key it is", async (context) => {
  const { service, ownPort, clock } = await guarded(context);
  const choice = { plan: "pro", label: "shop", readOnly: true } as const;
  const [named, plain] = [await service.keys.create(choice), await service.keys.create()];
  for (const [made, plan, label, readOnly, left] of [[named, "pro", "shop", true, 299], [plain, "free", null, false, 59]] as const) {
    const response = await exchange(ownPort, request({ target, key: made.key, fields: ["X-Request-Id: mine"] }));
    assert.equal(response.status, 200);
    assert.deepEqual(JSON.parse(response.content), { id: made.id, plan, label, readOnly });
    assert.equal(response.value("x-request-id"), "mine");
    assert.equal(response.value("x-ratelimit-limit"), String(left + 1));
    assert.equal(response.value("x-ratelimit-remaining"), String(left));
    assert.equal(response.value("x-ratelimit-reset"), String(clock.wallMs() / 1_000 + 60));
    assert.equal(response.value("cache-control"), undefined, "the program's matter");
  }
});

test("keyOf() is a frozen object, undefined before guard() and of a request that it refused", async (context) => {
  const { service, key } = await runningService(context);
  const port = await serve(context, (incoming, outgoing) => {
    assert.equal(service.keyOf(incoming), undefined);
    outgoing.once("finish", () => assert.equal(service.keyOf(incoming) === undefined, outgoing.statusCode !== 200));
    service.guard(incoming, outgoing, () => say(outgoing, String(Object.isFrozen(service.keyOf(incoming)))));
  });
  assert.equal((await exchange(port, request({ key }))).content, "true");
  assert.equal((await exchange(port, request({}))).status, 401);
});

test("keyOf() says after handle() too whose request it was, if it took a token: so the API is metered by key", async (context) => {
  const { service } = await runningService(context);
  const used: unknown[] = [];
  const port = await serve(context, (incoming, outgoing) => {
    outgoing.once("finish", () => used.push(service.keyOf(incoming)));
    service.handle(incoming, outgoing);
  });
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 2, perDay: 9, label: "kiosk" });
  const statuses = [];
  for (const path of ["/v1/pets", "/v1/dogs", "/v1/pets", "/healthz"]) {
    statuses.push((await exchange(port, request({ key, target: path }))).status);
  }
  assert.deepEqual(statuses, [200, 404, 429, 200]);
  const caller = { id, plan: "enterprise", label: "kiosk", readOnly: false };
  assert.deepEqual(used, [caller, caller, undefined, undefined]);
});

/** All but what differs between two responses, or two servers. */
function shared({ status, fields, content }: WireResponse): unknown {
  return { status, content, fields: fields.filter(([name]) => !["date", "keep-alive", "x-ratelimit-remaining"].includes(name)) };
}

test("what guard() refuses has the status, the fields and the content of the API's own refusal", async (context) => {
  const running = await guarded(context, { options: { corsOrigins: ["https://shop.example"] } });
  const { port, ownPort, key, clock } = running;
  const fields = ["X-Request-Id: mine", "Origin: https://shop.example"];
  const refusals = [
    ["missing_api_key", { fields }],
    ["missing_api_key", { fields, method: "HEAD" }],
    ["missing_api_key", { fields: [...fields, "Content-Length: 9"], method: "POST" }],
    ["invalid_api_key", { fields, key: `${key}x` }],
    ["invalid_api_key", { fields: [...fields, "Authorization: Basic YTpi"], key }],
    ["malformed_request", { fields: [...fields, "Host: a", "Host: b"], key }],
  ] as const;
  for (const [code, parts] of refusals) {
    const [ours, theirs] = [await exchange(ownPort, request({ target, ...parts })), await exchange(port, request(parts))];
    assert.deepEqual(shared(ours), shared(theirs));
    assert.ok("method" in parts || codeOf(ours) === code);
  }
  // Before our own listener, Node 24 itself refuses so many.
  const many = request({ target, key, fields: Array<string>(101).fill("A: b") });
  assert.equal(codeOf(await exchange(ownPort, many)), "header_fields_too_large");
  const [one, other] = [await keyWithQuota(running, 2), await keyWithQuota(running, 2)];
  const codes: string[] = [];
  for (let second = 0; second < 14; second++) {
    const ours = await exchange(ownPort, request({ target, key: one, fields }));
    const theirs = await exchange(port, request({ key: other, fields }));
    if (ours.status !== 200) {
      assert.deepEqual(shared(ours), shared(theirs));
      assert.ok(Number(ours.value("retry-after")) > 0);
      codes.push(String(codeOf(ours)));
    }
    clock.advance(1_000);
  }
  assert.deepEqual(codes, [...Array<string>(9).fill("rate_limited"), ...Array<string>(3).fill("key_banned")]);
});

test("guard() passes safe methods of a read-only key on, and others are 403, after their token", async (context) => {
  const { service, ownPort } = await guarded(context);
  const { key } = await service.keys.create({ readOnly: true });
  let left = 60;
  for (const method of ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]) {
    const response = await exchange(ownPort, request({ target, method, key }));
    const isSafe = ["GET", "HEAD", "OPTIONS"].includes(method);
    assert.equal(response.status, isSafe ? 200 : 403, method);
    assert.equal(response.value("x-ratelimit-remaining"), String(--left));
    if (!isSafe) {
      assert.equal(codeOf(response), "insufficient_scope");
      assert.match(response.value("www-authenticate") ?? "", /error="insufficient_scope"/);
    }
  }
});

test("keys and quotas are the same on the program's route as in the API, and follow changes at once", async (context) => {
  const running = await guarded(context);
  const { service, port, ownPort } = running;
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 4, perDay: 9 });
  const left: (string | undefined)[] = [];
  for (const [where, path] of [[port, "/v1/pets"], [ownPort, target], [port, "/v1/pets"], [ownPort, target]] as const) {
    left.push((await exchange(where, request({ target: path, key }))).value("x-ratelimit-remaining"));
  }
  assert.deepEqual(left, ["3", "2", "1", "0"]);
  assert.equal((await exchange(ownPort, request({ target, key }))).status, 429);
  await service.keys.reset(id);
  assert.equal((await exchange(ownPort, request({ target, key }))).status, 200);
  await service.keys.revoke(id);
  assert.equal(codeOf(await exchange(ownPort, request({ target, key }))), "invalid_api_key");
});

test("a request that comes to guard() and then to handle(), or to guard() twice, takes one token and is counted once", async (context) => {
  const clock = new ManualClock();
  const observers = new Observers({ clock, hasMetrics: true, writeRequests: undefined });
  const { service } = await runningService(context, { clock, observers });
  const { key } = await service.keys.create();
  const ids: unknown[] = [];
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => {
      ids.push(incoming.headers["x-request-id"]);
      service.guard(incoming, outgoing, () => service.handle(incoming, outgoing, () => say(outgoing, "own")));
    });
  });
  const listed = await exchange(port, request({ key }));
  assert.deepEqual([listed.content, listed.value("x-ratelimit-remaining")], ["[]", "59"]);
  assert.equal(listed.value("x-request-id"), ids[0]);
  const limits = JSON.parse((await exchange(port, request({ target: "/v1/limits", key }))).content);
  assert.equal(limits.minute.remaining, 58);
  assert.equal((await exchange(port, request({ target, key }))).value("x-ratelimit-remaining"), "57");
  assert.equal((await exchange(port, request({}))).status, 401);
  const counted = service.metrics().match(/(?<=requests_total\{).*/g);
  const series = [["/pets", 200], ["/limits", 200], ["guard", 200], ["guard", 401]];
  assert.deepEqual(counted, series.map(([route, status]) => `route="${route}",method="GET",status="${status}"} 1`));
});

test("the log and the metrics have one route for all that passes the guard, with the program's status", async (context) => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const observers = new Observers({ clock, hasMetrics: true, writeRequests: (line) => lines.push(line) });
  const { service, key, reports } = await runningService(context, { clock, observers });
  const { id: revoked, key: revokedKey } = await service.keys.create();
  await service.keys.revoke(revoked);
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => {
      outgoing.statusCode = 418;
      outgoing.setHeader("Content-Length", 0).end();
    });
  });
  const fields = ["Origin: https://elsewhere.example"];
  const asked = [["GET", "/a", key], ["GET", "/b?c", key], ["LOCK", "/d", key], ["PURGE", "/e", key], ["GET", "/f", revokedKey]] as const;
  for (const [method, path, secret] of asked) {
    await exchange(port, request({ method, target: path, key: secret, fields }));
  }
  const counted = service.metrics().match(/(?<=requests_total\{).*/g);
  assert.deepEqual(counted, [
    'route="guard",method="GET",status="418"} 2',
    'route="guard",method="other",status="418"} 2',
    'route="guard",method="GET",status="401"} 1',
  ]);
  observers.flush();
  const [first] = lines.join("").split("\n");
  assert.match(first ?? "", /"method":"GET","route":"guard","status":418,.*"key":"key_/);
  assert.deepEqual(reports, [], "whether browsers may call is the program's matter");
});

test("nobody comes to a guarded route without a key, whatever the method and the fields; keyOf() is defined there", async (context) => {
  const { service, port, key } = await runningService(context, { options: { corsOrigins: ["https://shop.example"] } });
  let count = 0;
  const ownPort = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => {
      count += 1;
      say(outgoing, String(service.keyOf(incoming)?.plan));
    });
  });
  const fields = [
    "Origin: https://shop.example", "Origin: https://other.example", "Access-Control-Request-Method: GET",
    "Access-Control-Request-Headers: authorization", "Upgrade: h2c", "Content-Length: 0", "Authorization: Basic YTpi",
  ];
  for (const method of ["GET", "POST", "OPTIONS", "PURGE"]) {
    for (let chosen = 0; chosen < 2 ** fields.length; chosen++) {
      const some = fields.filter((_, index) => (chosen & (1 << index)) !== 0);
      const { status } = await exchange(ownPort, request({ method, target, fields: some }));
      const isPreflight = method === "OPTIONS" && (chosen & 0b11) !== 0 && (chosen & 0b100) !== 0;
      const isRefused = status === 401 || status === 429 || status === 400;
      assert.ok(isPreflight ? status === 204 || status === 400 : isRefused, `${status} for ${method} ${some.join(", ")}`);
    }
  }
  assert.equal(count, 0);
  const own = await exchange(ownPort, request({ method: "OPTIONS", target, key, fields: fields.slice(0, 1) }));
  assert.deepEqual([own.status, own.content], [200, "enterprise"], "OPTIONS that is no preflight");
  assert.equal((await exchange(port, request({ key }))).status, 200);
});

test("guard() answers preflights with a 204 that permits nothing, and charges nobody", async (context) => {
  const { port, ownPort } = await guarded(context, { options: { corsOrigins: ["https://shop.example"] } });
  for (let count = 0; count < 70; count++) {
    const origin = `Origin: https://${count % 2 === 0 ? "shop" : "other"}.example`;
    const preflight = [origin, "Access-Control-Request-Method: GET"];
    const response = await exchange(ownPort, request({ method: "OPTIONS", target, fields: preflight }));
    assert.deepEqual([response.status, response.content], [204, ""]);
    assert.equal(response.value("access-control-allow-methods"), undefined);
    assert.equal(response.value("access-control-allow-headers"), undefined);
    assert.equal(response.value("x-ratelimit-remaining"), "60");
  }
  assert.equal((await exchange(port, request({}))).value("x-ratelimit-remaining"), "59");
});

test("guard() leaves the content to the program", async (context) => {
  const { service, key } = await runningService(context);
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => void text(incoming).then((content) => say(outgoing, content)));
  });
  assert.equal((await exchange(port, request({ method: "POST", key, content: rex }))).content, rex);
});

test("guard() leaves a request alone that has a response already, and takes no token", async (context) => {
  const { service } = await runningService(context);
  const { key } = await service.keys.create();
  const port = await serve(context, (incoming, outgoing) => {
    if (incoming.url === "/late") {
      say(outgoing, "late");
    }
    service.guard(incoming, outgoing, () => say(outgoing, "own"));
  });
  for (const [path, content, left] of [["/late", "late", undefined], ["/", "own", "59"]] as const) {
    const response = await exchange(port, request({ target: path, key }));
    assert.deepEqual([response.content, response.value("x-ratelimit-remaining")], [content, left]);
  }
});

test("no request reaches the program's route after a response of the guard that closes the connection", async (context) => {
  const { service, key } = await runningService(context);
  let count = 0;
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => say(outgoing, String(++count)));
  });
  for (const refused of [request({ key, fields: ["Host: a", "Host: b"] }), request({ fields: ["Connection: close"] })]) {
    const wire = await Wire.open(port);
    wire.send(Buffer.concat([refused, request({ method: "DELETE", key })]));
    assert.equal((await wire.response()).value("connection"), "close");
    assert.equal((await wire.closed()).rest, "");
  }
  assert.equal(count, 0);
});

test("what the program throws on its route is its own: guard() does not catch it", async (context) => {
  const reports: string[] = [];
  const service = await openAnimalStore({ dataDir: temporaryFolder(context), report: (message) => reports.push(message) });
  context.after(() => service.close());
  const { key } = await service.keys.create();
  const failure = new Error("This is what a route says that fails");
  const port = await serve(context, (incoming, outgoing) => {
    const route = (): never => {
      throw failure;
    };
    assert.throws(() => service.guard(incoming, outgoing, route), failure);
    say(outgoing, "caught");
  });
  assert.equal((await exchange(port, request({ key }))).content, "caught");
  assert.deepEqual(reports, []);
});

test("from close() on guard() still tells keys apart", async (context) => {
  const { service, ownPort, key } = await guarded(context);
  service.beginStopping();
  for (const [status, parts] of [[200, { key }], [401, {}]] as const) {
    assert.equal((await exchange(ownPort, request({ target, ...parts }))).status, status);
  }
});

test("what a guarded route says of its connection is its own: one that is kept is read, after Upgrade and close() too", async (context) => {
  const { service, key } = await runningService(context);
  const port = await serve(context, (incoming, outgoing) => {
    service.guard(incoming, outgoing, () => {
      outgoing.writeHead(200, { "Content-Length": 2, Connection: "keep-alive" }).end("ok"); // As a route that proxies.
    });
  });
  const twice = async (fields: readonly string[]): Promise<void> => {
    const wire = await Wire.open(port);
    for (const some of [fields, []]) {
      const response = await wire.send(request({ key, fields: some })).response();
      assert.deepEqual([response.status, response.content], [200, "ok"]);
    }
  };
  await twice(["Connection: Upgrade", "Upgrade: h2c"]);
  service.beginStopping();
  await twice([]);
});
