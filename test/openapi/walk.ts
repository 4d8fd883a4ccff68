/**
 * Holds answers of the running service against its description, and remembers which of the described ones were seen.
 */

import { type DescribedResponse, everyResponse, type Node, resolver } from "./description.ts";
import { faultsOf, type Schema } from "./json-schema.ts";
import type { RawResponse } from "./raw-request.ts";

/** Fields that HTTP needs and OpenAPI has no place for. */
const framing: readonly string[] = ["date", "connection", "keep-alive", "content-type"];

export class Walk {
  readonly #basePath: string;
  readonly #description: Node;
  readonly #responses: readonly DescribedResponse[];
  readonly #seen = new Set<string>();

  constructor(description: Node, basePath: string) {
    this.#description = description;
    this.#basePath = basePath;
    this.#responses = everyResponse(description);
  }

  /** Everything about the response that the description does not say. */
  judge(method: string, target: string, response: RawResponse): readonly string[] {
    const described = this.#find(method, target, response.status);
    const name = `${method} ${target.slice(0, 40)} ${response.status}`;
    if (described === undefined) {
      return [`${name} is not described`];
    }
    const faults = [...this.#fieldFaults(described.response, response), ...this.#contentFaults(described, response)];
    const code = codeOf(response.content);
    this.#seen.add(described.name);
    this.#seen.add(`${described.name} ${code ?? ""}`);
    return faults.map((fault) => `${name}: ${fault}`);
  }

  /** Described responses that no request brought about; where one has several codes, each counts. */
  unseen(): readonly string[] {
    const all = this.#responses.flatMap(({ name, response }) => {
      const examples = response["content"]?.["application/json"]?.["examples"] ?? {};
      const codes = Object.entries(examples).filter(([, example]) => example["value"]?.["code"] !== undefined);
      return codes.length === 0 ? [name] : codes.map(([code]) => `${name} ${code}`);
    });
    return all.filter((name) => !this.#seen.has(name));
  }

  #find(method: string, target: string, status: number): DescribedResponse | undefined {
    const path = this.#templateOf(target.replace(/\?.*/s, ""));
    const item = this.#description["paths"]?.[path];
    const name = item?.[method.toLowerCase()] === undefined ? "other" : method.toLowerCase();
    return this.#responses.find((each) => each.path === path && each.method === name && each.status === status);
  }

  #templateOf(path: string): string {
    if (path === "/healthz" || path === "/openapi.json") {
      return path;
    }
    const below = path.startsWith(this.#basePath) ? path.slice(this.#basePath.length) : "";
    return below === "/pets" ? below : /^\/pets\/[^/]+$/.test(below) ? "/pets/{petId}" : "*";
  }

  #fieldFaults(described: Node, response: RawResponse): readonly string[] {
    const resolve = resolver(this.#description);
    const faults: string[] = [];
    const headers = Object.entries(described["headers"] ?? {});
    for (const [name, header] of headers) {
      // A reference holds a string where all else holds objects.
      const reference = header["$ref"] as unknown as string | undefined;
      const { schema = {}, required } = reference === undefined ? header : resolve(reference);
      const values = response.fields.filter((field) => field[0].toLowerCase() === name.toLowerCase());
      if (values.length > 1 || (values.length === 0 && Boolean(required))) {
        faults.push(`${name} stands ${values.length} times`);
      }
      faults.push(...values.flatMap(([, value]) => faultsOf(typed(value, schema), schema, resolve, name)));
    }
    const known = [...framing, ...headers.map(([name]) => name.toLowerCase())];
    const unknown = response.fields.filter(([name]) => !known.includes(name.toLowerCase()));
    return [...faults, ...unknown.map(([name]) => `${name} is not described`)];
  }

  #contentFaults({ method, status, response: described }: DescribedResponse, response: RawResponse): readonly string[] {
    const type = response.fields.find(([name]) => name.toLowerCase() === "content-type")?.[1];
    const media = described["content"]?.["application/json"];
    if (media === undefined) {
      // Where the fields were never read to their end, the service cannot know that this is HEAD, and closes anyway.
      const isUnread = method === "head" && (status === 408 || status === 431);
      const typeFaults = method !== "head" && type !== undefined ? ["has a Content-Type"] : [];
      return response.content === "" || isUnread ? typeFaults : [...typeFaults, `has content: ${response.content}`];
    }
    const length = response.fields.find(([name]) => name.toLowerCase() === "content-length")?.[1];
    return [
      ...(type === "application/json; charset=utf-8" ? [] : [`Content-Type is ${type}`]),
      ...(Number(length) === Buffer.byteLength(response.content) ? [] : [`Content-Length is ${length}`]),
      ...faultsOf(JSON.parse(response.content), media["schema"] ?? {}, resolver(this.#description), "content"),
    ];
  }
}

/** A field's value is text; the schema says what it stands for. */
function typed(value: string, schema: Schema): unknown {
  return schema["type"] === "integer" && /^(0|[1-9][0-9]*)$/.test(value) ? Number(value) : value;
}

function codeOf(content: string): string | undefined {
  return /^\{"code":"(\w+)"/.exec(content)?.[1];
}
