/**
 * One round of load against one server on 127.0.0.1, bounded in time, and one request by hand. The load comes from wrk.
 * It comes from generator.js if wrk is missing, or if reads and creates are measured separately.
 */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { join } from "node:path";
import { machine } from "./machine.js";
import { run } from "./processes.js";

const here = import.meta.dirname;

/**
 * @typedef {{ requests: number, seconds: number, errors: number, broken: number, p50Ms: number, p99Ms: number,
 *   maxMs: number }} Round errors: responses with a status above 399; broken: connections refused, cut or timed out
 * @typedef {import("./workloads.js").ReceivedResponse & { rawFields: readonly string[] }} Received
 */

/** @param options folder: where the file of the requests is written */
export async function applyLoad(options) {
  if (machine.wrk === undefined) return (await generateLoad(options)).all;
  const { port, connections, seconds } = options;
  const file = writeRequests(options);
  // A slow response is no broken connection: wrk's own time-out is 2 s, and a peer may take longer for a create.
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "30s", "-s", join(here, "requests.lua")];
  const output = await run("load", { command: "wrk", args: [...args, `http://127.0.0.1:${port}`, "--", file, `${randomUUID()}-`] });
  return JSON.parse(output.slice(output.lastIndexOf('{"requests"')));
}

export async function generateLoad(options) {
  const { port, connections, seconds } = options;
  const args = [...[port, connections, seconds].map(String), writeRequests(options), `${randomUUID()}-`];
  return JSON.parse(await run("load", { command: process.execPath, args: [join(here, "generator.js"), ...args] }));
}

function writeRequests({ requests, folder }) {
  const file = join(folder, "requests");
  writeFileSync(file, requests.map((text) => `${text}\0`).join(""));
  return file;
}

/**
 * Sends one request on a connection of its own, kept alive as the load's connections are.
 *
 * @param {string} text raw HTTP/1.1
 */
export function sendOnce(port, text) {
  const [head = "", content = ""] = text.replace("{unique}", randomUUID()).split("\r\n\r\n");
  const [requestLine = "", ...fieldLines] = head.split("\r\n");
  const [method, path] = requestLine.split(" ");
  const headers = Object.fromEntries(fieldLines.map((line) => line.split(": ")));
  const agent = new Agent({ keepAlive: true });
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, headers, agent };
    const outgoing = httpRequest(options, (incoming) => {
      let body = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => (body += chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        resolve({ status: incoming.statusCode, fields: incoming.headers, rawFields: incoming.rawHeaders, body });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(content);
  }).finally(() => agent.destroy());
}
