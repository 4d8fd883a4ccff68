/**
 * The members of a JSON object, with what `JSON.parse` drops: which names are repeated, and how each number is
 * written, since a double cannot hold every int64. `JSON.parse` alone decides what is JSON.
 */

export interface JsonMembers {
  /** By name, each value as it is written, perhaps with white space around it. Of a repeated name, the first. */
  readonly texts: ReadonlyMap<string, string>;
  readonly repeatedNames: ReadonlySet<string>;
}

/** Drops one byte order mark at the start (RFC 8259, 8.1). Keeps nothing from one text to the next. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns undefined if `content` is not UTF-8. */
export function decodeUtf8(content: Uint8Array): string | undefined {
  try {
    return utf8.decode(content);
  } catch {
    return undefined; // The TypeError says only that it is not UTF-8.
  }
}

/** The value of a JSON text, wrapped because every value may be one. Returns undefined if `text` is not JSON. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined; // The message differs between releases of Node, and may quote the client.
  }
}

const quotationMark = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Cuts the text of an object at the colons and commas of its own members; those of nested values are skipped. The time
 * is linear in the text, and nesting costs no stack. Names are compared after unescaping (RFC 8259, 8.3).
 *
 * @param text a JSON text whose value is an object: nothing is checked here
 */
export function readMembers(text: string): JsonMembers {
  const texts = new Map<string, string>();
  const repeatedNames = new Set<string>();
  let depth = 0;
  let isInString = false;
  let name: string | undefined;
  let start = 0;
  function takeMember(end: number): void {
    if (name === undefined) {
      return; // The object is empty.
    }
    if (texts.has(name)) {
      repeatedNames.add(name);
    } else {
      texts.set(name, text.slice(start, end));
    }
  }
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (isInString) {
      if (code === backslash) {
        position += 1;
      } else if (code === quotationMark) {
        isInString = false;
      }
    } else if (code === quotationMark) {
      isInString = true;
    } else if (code === openBrace || code === openBracket) {
      depth += 1;
      start = depth === 1 ? position + 1 : start;
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) {
        takeMember(position);
      }
    } else if (depth === 1 && code === colon) {
      name = JSON.parse(text.slice(start, position)) as string; // A member's name is a string.
      start = position + 1;
    } else if (depth === 1 && code === comma) {
      takeMember(position);
      start = position + 1;
    }
  }
  return { texts, repeatedNames };
}
