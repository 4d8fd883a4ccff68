/**
 * Compares responses of the running service with its description, and remembers which of the described ones were seen.
 */

import { codeOf, type WireResponse } from "../support/wire-response.ts";
import { type DescribedResponse, everyResponse, type Node, resolver } from "./description.ts";
import { faultsOf, isObject, type Schema } from "./json-schema.ts";

/** Fields of HTTP, caches and CORS, which the description leaves out. */
const undescribed =
  /^(date|connection|keep-alive|content-(type|length)|accept-encoding|cache-control|x-content-type-options|vary|access-control-.*)$/;

/** Clients must ignore a member that they do not know. These tests must not: the service has none that is not described. */
function closed(node: Node): Node {
  const members = Object.entries(node).map(([name, child]) => [name, isObject(child) ? closed(child as Node) : child]);
  const isClosed = String(node["type"]) === "object" && node["properties"] !== undefined;
  return { ...Object.fromEntries(members), ...(isClosed && { additionalProperties: false }) } as Node;
}

export class Walk {
  readonly #basePath: string;
  readonly #description: Node;
  readonly #responses: readonly DescribedResponse[];
  readonly #seen = new Set<string>();
  /** Messages that were received. Numbers are not compared: seconds pass. */
  readonly #messages = new Set<string>();

  constructor(description: Node, basePath: string) {
    this.#description = closed(description);
    this.#basePath = basePath;
    this.#responses = everyResponse(this.#description);
  }

  /** Everything about the response to an operation that the description does not say. */
  judge(method: string, target: string, response: WireResponse): readonly string[] {
    const path = this.#templateOf(target.replace(/\?.*/s, ""));
    const described = this.#responses.find(
      (each) => each.path === path && each.method === method.toLowerCase() && each.status === response.status,
    );
    const name = `${method} ${target.slice(0, 40)} ${response.status}`;
    if (described === undefined) {
      return [`${name} is not described`];
    }
    const faults = [...this.#fieldFaults(described.response, response), ...this.#contentFaults(described, response)];
    this.#seen.add(described.name);
    this.#messages.add(withoutNumbers(messageOf(response)));
    this.#seen.add(`${described.name} ${codeOf(response) ?? ""}`);
    response.fields.forEach(([field]) => this.#seen.add(`${described.name} with ${field}`));
    return faults.map((fault) => `${name}: ${fault}`);
  }

  /** Described responses that no request has received; if one has several codes, each counts, and so does each field. */
  unseen(): readonly string[] {
    const all = this.#responses.flatMap(({ name, response }) => {
      const examples = response["content"]?.["application/json"]?.["examples"] ?? {};
      const codes = Object.entries(examples).filter(([, example]) => example["value"]?.["code"] !== undefined);
      const fields = Object.keys(response["headers"] ?? {}).map((field) => `${name} with ${field.toLowerCase()}`);
      return [...(codes.length === 0 ? [name] : codes.map(([code]) => `${name} ${code}`)), ...fields];
    });
    return all.filter((name) => !this.#seen.has(name));
  }

  /** Messages of examples that no request has received. */
  untrueExamples(): readonly string[] {
    const examples = this.#responses.flatMap(({ response }) =>
      Object.values(response["content"]?.["application/json"]?.["examples"] ?? {}));
    const messages = new Set(examples.flatMap((example) => example["value"]?.["message"] ?? []).map(String));
    return [...messages].filter((message) => !this.#messages.has(withoutNumbers(message)));
  }

  #templateOf(path: string): string {
    return path.slice(this.#basePath.length).replace(/^\/pets\/[^/]+$/, "/pets/{petId}");
  }

  #fieldFaults(described: Node, response: WireResponse): readonly string[] {
    const resolve = resolver(this.#description);
    const faults: string[] = [];
    const headers = Object.entries(described["headers"] ?? {});
    for (const [name, header] of headers) {
      // A reference holds a string where all else holds objects.
      const { schema = {}, required } = resolve(header["$ref"] as unknown as string);
      const values = response.fields.filter((field) => field[0] === name.toLowerCase());
      if (values.length > 1 || (values.length === 0 && Boolean(required))) {
        faults.push(`${name} occurs ${values.length} times`);
      }
      faults.push(...values.flatMap(([, value]) => faultsOf(typed(value, schema), schema, resolve, name)));
    }
    const known = headers.map(([name]) => name.toLowerCase());
    const unknown = response.fields.filter(([name]) => !undescribed.test(name) && !known.includes(name));
    return [...faults, ...unknown.map(([name]) => `${name} is not described`)];
  }

  #contentFaults({ response: described }: DescribedResponse, response: WireResponse): readonly string[] {
    const type = response.value("content-type");
    if (described["content"] === undefined) {
      return response.content === "" && type === undefined ? [] : ["content is not described"];
    }
    const schema = described["content"]?.["application/json"]?.["schema"] ?? {};
    return [
      ...(type === "application/json; charset=utf-8" ? [] : [`Content-Type is ${type}`]),
      ...faultsOf(JSON.parse(response.content), schema, resolver(this.#description), "content"),
    ];
  }
}

function messageOf({ content }: WireResponse): string {
  return String(JSON.parse(/"message":("(?:[^"\\]|\\.)*")/.exec(content)?.[1] ?? '""'));
}

function withoutNumbers(message: string): string {
  return message.replace(/\d+/g, "N");
}

/** A field's value is text; the schema says what it means. */
function typed(value: string, schema: Schema): unknown {
  return schema["type"] === "integer" && /^(0|[1-9][0-9]*)$/.test(value) ? Number(value) : value;
}
