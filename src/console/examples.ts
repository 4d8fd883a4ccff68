/** The example of each operation: as curl, with the client, and in Python. Each reads the key from `KEY`. */

import { type CallRequest, curlLine } from "./call-request.ts";

interface Example {
  /** Below the address of the API. */
  readonly target: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: string;
  /** The same with the client. */
  readonly call: string;
}

const json = { "Content-Type": "application/json" };

/** By `operationId`. The tests run each of them. */
export const examples: Readonly<Record<string, Example>> = {
  listPets: {
    target: "/pets?limit=2&status=available",
    call: 'pets.list({ limit: 2, status: "available" })',
  },
  createPet: {
    target: "/pets",
    fields: json,
    content: '{"name":"Rex","categoryId":5}',
    call: 'pets.add({ name: "Rex", categoryId: 5 })',
  },
  getPet: { target: "/pets/1", call: "pets.get(1)" },
  changeStatus: {
    target: "/pets/1",
    fields: { ...json, "If-Match": '"available"' },
    content: '{"status":"pending"}',
    call: 'pets.changeStatus(1, "pending", { from: "available" })',
  },
  getLimits: { target: "/limits", call: "limits()" },
};

type Code = readonly [language: string, code: string];

/**
 * Each language with its code.
 * @param method one that the reference shows
 * @param api the address of the API
 */
export function codeOf({ target, call, ...more }: Example, method: string, api: string): readonly Code[] {
  const request = { ...more, url: api + target, method: method as CallRequest["method"] };
  return [["curl", curlLine(request)], ["JavaScript", javaScript(call, api)], ["Python", python(request)]];
}

function javaScript(call: string, api: string): string {
  return `import { AnimalStoreClient } from "animal-store/client";

const client = new AnimalStoreClient({ url: "${api}", key: process.env.KEY });
console.log(await client.${call});`;
}

function python({ url, method, fields, content }: CallRequest): string {
  const more = Object.entries(fields ?? {}).map(([name, value]) => `    "${name}": '${value}',\n`).join("");
  const data = content === undefined ? "" : `method="${method}", data=b'${content}', `;
  return `import json, os
from urllib.request import Request, urlopen

request = Request("${url}", ${data}headers={
    "Authorization": "Bearer " + os.environ["KEY"],
${more}})
print(json.load(urlopen(request)))`;
}
