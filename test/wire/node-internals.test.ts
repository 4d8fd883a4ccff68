/** The internals of Node that the module relies on, and what happens where a release of Node lacks one. */

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { faultOfNode } from "../../src/wire/node-internals.ts";
import { start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("faultOfNode() finds nothing missing in this Node", () => {
  assert.equal(faultOfNode(), undefined);
});

test("faultOfNode() refuses majors of Node on which the lane is not tested", () => {
  for (const major of [20, 22, 24, 26]) {
    assert.equal(faultOfNode(`v${major}.15.0`), undefined);
    const next = `v${major + 1}.0.0`;
    assert.equal(faultOfNode(next), `Node ${next} is none of 20, 22, 24, 26, on which it is tested`);
  }
});

/** A server of node:http that some change was made to, as another Node could make it. */
function changed(change: (server: Server) => void): () => Server {
  return () => {
    const server = createServer();
    change(server);
    return server;
  };
}

test("faultOfNode() names what a Node lacks", () => {
  const rows: readonly (readonly [name: string, change: (server: Server) => void])[] = [
    ["a parser that takes what is emitted", (server) => server.removeAllListeners("connection")],
    ["parser.onIncoming", (server) => server.on("connection", (socket) => Object.assign(socket, { parser: undefined }))],
    ["shouldKeepAlive", (server) => server.on("request", (_, outgoing) => Reflect.set(outgoing, "shouldKeepAlive", 1))],
    ["httpAllowHalfOpen", (server) => Reflect.deleteProperty(server, "httpAllowHalfOpen")],
  ];
  for (const [name, change] of rows) {
    assert.ok(faultOfNode(process.version, changed(change))?.includes(`no ${name}`), name);
  }
});

test("where Node lacks something the server says so, serves without the fast lane, and stops", async (context) => {
  const folder = temporaryFolder(context);
  const preload = join(folder, "preload.cjs");
  writeFileSync(preload, `
    const http = require("node:http");
    const { createServer } = http;
    http.createServer = (...options) => {
      const server = createServer(...options);
      delete server.httpAllowHalfOpen;
      return server;
    };
  `);
  const env = { NODE_OPTIONS: `--require ${preload}` };
  const program = await start(context, ["--data", join(folder, "data")], { env });
  assert.equal((await fetch(`${program.origin}/healthz`)).status, 200);
  const expected = `the fast lane is off: Node ${process.version} has no httpAllowHalfOpen`;
  assert.ok(program.output().stderr.includes(expected), program.output().stderr);
  assert.equal(await program.stop(), 0);
});
