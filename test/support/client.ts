/**
 * A client of a running program, which reuses its connections. It sends whole, valid requests only; wire.ts sends others.
 */

import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from "node:http";

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Client {
  send(method: string, path: string, parts?: { readonly headers?: Fields; readonly content?: string }): Promise<Received>;
  get(path: string, headers?: Fields): Promise<Received>;
  /** Adds an animal. `headers` may have an `idempotency-key`. */
  add(pet: object, headers?: Fields): Promise<Received>;
  /** Changes a status. `headers` have an `if-match`, and may have an `idempotency-key`. */
  change(id: number, status: string, headers: Fields): Promise<Received>;
  /** The texts of all animals after that id, following the pages. */
  animalsAfter(id: number): Promise<string[]>;
  close(): void;
}

type Fields = Readonly<Record<string, string | number>>;

/** A request is rejected when its connection breaks, or after `timeoutMs` without the whole response. */
export function newClient(
  { origin }: { readonly origin: string },
  key: string,
  { connections = 64, timeoutMs = 30_000 }: { readonly connections?: number; readonly timeoutMs?: number } = {},
): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const withContent = (value: object, headers: Fields) => {
    const content = JSON.stringify(value);
    const fields = { "content-type": "application/json", "content-length": Buffer.byteLength(content), ...headers };
    return { headers: fields, content };
  };
  return {
    send(method, path, { headers = {}, content } = {}) {
      const fields = { authorization: `Bearer ${key}`, ...headers };
      const signal = AbortSignal.timeout(timeoutMs);
      return wholeResponse(request(`${origin}${path}`, { method, agent, headers: fields, signal }), content);
    },
    get(path, headers = {}) {
      return this.send("GET", path, { headers });
    },
    add(pet, headers = {}) {
      return this.send("POST", "/v1/pets", withContent(pet, headers));
    },
    change(id, status, headers) {
      return this.send("PATCH", `/v1/pets/${id}`, withContent({ status }, headers));
    },
    async animalsAfter(id) {
      const texts: string[] = [];
      for (let path: string | undefined = `/v1/pets?limit=100&after=${id}`; path !== undefined; ) {
        const { status, headers, text } = await this.get(path);
        if (status !== 200) {
          throw new Error(`the list responds ${status}: ${text}`);
        }
        texts.push(...text.slice(1, -1).split(/(?<=\}),(?=\{)/).filter((pet) => pet !== ""));
        path = /<([^>]+)>; rel="next"/.exec(String(headers["link"]))?.[1];
      }
      return texts;
    },
    close: () => agent.destroy(),
  };
}

/** Sends the request, with content or without. */
export function wholeResponse(outgoing: ClientRequest, content?: string): Promise<Received> {
  return new Promise((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => (text += chunk));
      incoming.on("error", reject);
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.end(content);
  });
}
