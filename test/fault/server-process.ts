/**
 * The server as a child process that may be killed at any moment, also under a tool that makes its disk fail, and a
 * client that keeps its connections.
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../src/server.js", import.meta.url));

export interface ServerProcess {
  readonly port: number;
  readonly process: ChildProcess;
  stderr(): string;
  /** Resolves to the exit code once the process is gone. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** A key that no test uses up. */
export function createKey(dataDir: string): string {
  const plan = ["--plan", "enterprise", "--per-minute", "1000000000", "--per-day", "1000000000"];
  return execFileSync(process.execPath, [program, "keys", "create", "--data", dataDir, ...plan]).toString().trim();
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param wrapper as that of `startServer` */
export function runCommand(args: readonly string[], wrapper: readonly string[] = []): Ran {
  const [command = process.execPath, ...rest] = [...wrapper, process.execPath, program, ...args];
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: "utf8" });
  return { code: status, stdout, stderr };
}

/** @param wrapper a command that runs the one after it, such as strace with its flags */
export async function startServer(dataDir: string, wrapper: readonly string[] = []): Promise<ServerProcess> {
  const [command = process.execPath, ...args] = [...wrapper, process.execPath, program, "--port", "0", "--data", dataDir];
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1", UV_USE_IO_URING: "0", PORT: "" };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit") as Promise<[number | null]>;
  let stdout = "";
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      const match = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(stdout);
      if (match !== null) {
        resolve(Number(match[1]));
      }
    });
    void ended.then(([code]) => reject(new Error(`the server ended with ${code}: ${stderr}`)));
  });
  return {
    port,
    process: child,
    stderr: () => stderr,
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) {
        return child.exitCode;
      }
      // A wrapper that stays, as strace does, would leave the server running.
      const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
      process.kill(wrapper[0] === "strace" && children !== "" ? Number(children.split(" ")[0]) : (child.pid ?? 0), signal);
      return (await ended)[0];
    },
  };
}

export interface ReceivedResponse {
  readonly status: number;
  readonly body: string;
  readonly link: string | undefined;
}

export class Client {
  readonly #agent: Agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #port: number;
  readonly #key: string;

  constructor(port: number, key: string) {
    this.#port = port;
    this.#key = key;
  }

  /** Rejects when the connection is lost before the whole response has come. */
  ask(method: string, path: string, body?: string, idempotencyKey?: string): Promise<ReceivedResponse> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#key}`,
        "content-type": "application/json",
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      };
      const asking = request({ port: this.#port, agent: this.#agent, method, path, headers }, (incoming) => {
        let text = "";
        incoming.setEncoding("utf8");
        incoming.on("data", (chunk: string) => (text += chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          resolve({ status: incoming.statusCode ?? 0, body: text, link: incoming.headers["link"]?.toString() });
        });
      });
      asking.on("error", reject);
      asking.end(body);
    });
  }

  /** The texts of all animals after that id, following the pages. */
  async animalsAfter(id: number): Promise<string[]> {
    const texts: string[] = [];
    for (let path: string | undefined = `/v1/pets?limit=100&after=${id}`; path !== undefined; ) {
      const { status, body, link } = await this.ask("GET", path);
      if (status !== 200) {
        throw new Error(`the list responds ${status}: ${body}`);
      }
      texts.push(...body.slice(1, -1).split(/(?<=\}),(?=\{)/).filter((text) => text !== ""));
      path = /<([^>]+)>; rel="next"/.exec(link ?? "")?.[1];
    }
    return texts;
  }

  close(): void {
    this.#agent.destroy();
  }
}
