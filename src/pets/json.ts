/**
 * A JSON reader (RFC 8259) for content that `JSON.parse` would read wrongly without a word: it keeps numbers as they
 * were written, and tells which members are repeated.
 *
 * Containers still open are a list in memory, not calls on the stack: depth is bounded by the text alone. Time is
 * linear in the text.
 */

import { JsonScanner, JsonSyntaxError } from "./json-scanner.ts";
import { JsonObject } from "./json-value.ts";
import type { JsonValue } from "./json-value.ts";

export { JsonSyntaxError } from "./json-scanner.ts";
export { JsonNumber, JsonObject, toInt64 } from "./json-value.ts";
export type { JsonValue } from "./json-value.ts";

/** Drops one byte order mark. Keeps nothing from one text to the next. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text of a JSON document in UTF-8, without the byte order mark that may be in front (RFC 8259, section 8.1).
 *
 * @throws {JsonSyntaxError} `content` is not UTF-8
 */
export function decodeJson(content: Uint8Array): string {
  try {
    return utf8.decode(content);
  } catch (cause) {
    throw new JsonSyntaxError("Cannot read JSON: the content is not UTF-8", { cause });
  }
}

/**
 * The value that `text` is, to the last character.
 *
 * @throws {JsonSyntaxError} exactly where `JSON.parse` throws; positions count UTF-16 code units from 0
 */
export function readJson(text: string): JsonValue {
  return new Reader(text).read();
}

const quotationMark = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const lowerF = 0x66;
const lowerN = 0x6e;
const lowerT = 0x74;
const openBrace = 0x7b;
const closeBrace = 0x7d;

interface OpenArray {
  readonly kind: "array";
  readonly outer: OpenContainer | undefined;
  readonly items: JsonValue[];
}

interface OpenObject {
  readonly kind: "object";
  readonly outer: OpenContainer | undefined;
  readonly members: Map<string, JsonValue>;
  repeatedNames: Set<string> | undefined;
  /** Of the member whose value comes next. */
  name: string;
}

type OpenContainer = OpenArray | OpenObject;

class Reader {
  readonly #scanner: JsonScanner;
  #innermost: OpenContainer | undefined;

  constructor(text: string) {
    this.#scanner = new JsonScanner(text);
  }

  read(): JsonValue {
    for (;;) {
      let value = this.#startValue();
      while (value !== undefined) {
        if (this.#innermost === undefined) {
          return this.#endDocument(value);
        }
        value = this.#innermost.kind === "array"
          ? this.#putItem(this.#innermost, value)
          : this.#putMember(this.#innermost, value);
      }
    }
  }

  /** The value that begins here; undefined where that opened a container whose first value comes next. */
  #startValue(): JsonValue | undefined {
    switch (this.#scanner.skipSpace()) {
      case quotationMark:
        return this.#scanner.readString();
      case openBrace:
        return this.#startObject();
      case openBracket:
        return this.#startArray();
      case lowerT:
        return this.#scanner.readLiteral("true", true);
      case lowerF:
        return this.#scanner.readLiteral("false", false);
      case lowerN:
        return this.#scanner.readLiteral("null", null);
      default:
        return this.#scanner.readNumber();
    }
  }

  #startArray(): JsonValue | undefined {
    this.#scanner.takeStructural(openBracket);
    if (this.#scanner.takeStructural(closeBracket)) {
      return [];
    }
    this.#innermost = { kind: "array", outer: this.#innermost, items: [] };
    return undefined;
  }

  /** The array, when this item was its last; undefined where another value has to follow. */
  #putItem(array: OpenArray, item: JsonValue): JsonValue | undefined {
    array.items.push(item);
    if (this.#scanner.takeStructural(comma)) {
      return undefined;
    }
    if (!this.#scanner.takeStructural(closeBracket)) {
      throw this.#scanner.expected('"," or "]"');
    }
    this.#innermost = array.outer;
    return array.items;
  }

  #startObject(): JsonValue | undefined {
    this.#scanner.takeStructural(openBrace);
    if (this.#scanner.takeStructural(closeBrace)) {
      return new JsonObject(new Map(), []);
    }
    const name = this.#readName('a member name in quotation marks or "}"');
    this.#innermost = { kind: "object", outer: this.#innermost, members: new Map(), repeatedNames: undefined, name };
    return undefined;
  }

  /** The object, when this member was its last; undefined where another value has to follow. */
  #putMember(object: OpenObject, value: JsonValue): JsonValue | undefined {
    if (object.members.has(object.name)) {
      object.repeatedNames ??= new Set();
      object.repeatedNames.add(object.name);
    } else {
      object.members.set(object.name, value);
    }
    if (this.#scanner.takeStructural(comma)) {
      object.name = this.#readName("a member name in quotation marks");
      return undefined;
    }
    if (!this.#scanner.takeStructural(closeBrace)) {
      throw this.#scanner.expected('"," or "}"');
    }
    this.#innermost = object.outer;
    return new JsonObject(object.members, object.repeatedNames === undefined ? [] : [...object.repeatedNames]);
  }

  #readName(expected: string): string {
    if (this.#scanner.skipSpace() !== quotationMark) {
      throw this.#scanner.expected(expected);
    }
    const name = this.#scanner.readString();
    if (!this.#scanner.takeStructural(colon)) {
      throw this.#scanner.expected('":"');
    }
    return name;
  }

  #endDocument(value: JsonValue): JsonValue {
    if (!Number.isNaN(this.#scanner.skipSpace())) {
      throw this.#scanner.expected("the end");
    }
    return value;
  }
}
