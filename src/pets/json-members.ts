/**
 * The members of a JSON object as they are written. `JSON.parse` keeps only the last of several members with one name,
 * and no number beyond the digits of a double. But it alone decides what is JSON.
 */

export interface JsonMember {
  readonly name: string;
  /** The value as it is written, perhaps with white space around it. */
  readonly text: string;
}

/** Drops one byte order mark at the start (RFC 8259, 8.1). */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns undefined if `content` is not UTF-8. */
export function decodeUtf8(content: Uint8Array): string | undefined {
  try {
    return utf8.decode(content);
  } catch {
    return undefined;
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
 * is linear, and nesting costs no stack.
 * @param text a JSON text that `parseJson` accepts, and whose value is an object
 */
export function readMembers(text: string): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let depth = 0;
  let start = 0;
  let name: string | undefined;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quotationMark) {
      position = endOfString(text, position);
    } else if (code === openBrace || code === openBracket) {
      depth += 1;
      start = depth === 1 ? position + 1 : start;
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0 && name !== undefined) {
        members.push({ name, text: text.slice(start, position) });
      }
    } else if (depth === 1 && code === colon) {
      name = nameOf(text.slice(start, position));
      start = position + 1;
    } else if (depth === 1 && code === comma && name !== undefined) {
      members.push({ name, text: text.slice(start, position) });
      start = position + 1;
    }
  }
  return members;
}

function endOfString(text: string, start: number): number {
  let position = start + 1;
  for (let code = text.charCodeAt(position); code !== quotationMark; code = text.charCodeAt(position)) {
    position += code === backslash ? 2 : 1;
  }
  return position;
}

/** The name without its escapes (RFC 8259, 8.3). Hardly any has one, so the slower `JSON.parse` is seldom needed. */
function nameOf(text: string): string {
  return text.includes("\\") ? (JSON.parse(text) as string) : text.trim().slice(1, -1);
}
