/**
 * Ways through an OpenAPI description, for the tests that read it.
 */

import { describeApi } from "../../src/openapi/document.ts";
import { isObject, type Schema } from "./json-schema.ts";

export type Node = { readonly [member: string]: Node };

/** What a client gets: the description, written as JSON and read again. */
export function published(addresses: Partial<Parameters<typeof describeApi>[0]> = {}): Node {
  const can = { hasChanges: true, hasRemovals: true };
  const description = describeApi({ baseUrl: undefined, basePath: "/v1", stagingBaseUrl: undefined, ...can, ...addresses });
  // A tree to walk: the tests find out what it holds.
  return JSON.parse(JSON.stringify(description)) as Node;
}

/** Every object in the tree with the path to it, from the root down. */
export function* everyNode(node: unknown, path = "#"): Generator<readonly [string, Node]> {
  if (isObject(node)) {
    // See `published`.
    yield [path, node as Node];
  }
  if (typeof node === "object" && node !== null) {
    for (const [name, child] of Object.entries(node)) {
      yield* everyNode(child, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  }
}

/** What a `$ref` points at (RFC 6901). */
export function resolver(description: Node): (reference: string) => Schema & Node {
  return (reference) => {
    const names = reference.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    let node: Node | undefined = description;
    for (const name of names) {
      node = node?.[name];
    }
    if (!reference.startsWith("#/") || node === undefined) {
      throw new Error(`Cannot resolve ${reference}: it does not exist`);
    }
    return node;
  };
}

export interface DescribedResponse {
  /** As "get /pets 200". */
  readonly name: string;
  readonly path: string;
  readonly method: string;
  readonly status: number;
  readonly response: Node;
}

/** Every response of every operation, references followed. */
export function everyResponse(description: Node): readonly DescribedResponse[] {
  const resolve = resolver(description);
  const found: DescribedResponse[] = [];
  for (const [path, item] of Object.entries(description["paths"] ?? {})) {
    for (const [method, operation] of Object.entries(item)) {
      for (const [status, response] of Object.entries(operation["responses"] ?? {})) {
        // A reference holds a string where all else holds objects.
        const reference = response["$ref"] as unknown as string | undefined;
        const target = reference === undefined ? response : resolve(reference);
        found.push({ name: `${method} ${path} ${status}`, path, method, status: Number(status), response: target });
      }
    }
  }
  return found;
}
