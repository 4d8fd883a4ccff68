/**
 * A client's text, made fit for a message to the client: bounded, on one line, well-formed, and without keys.
 */

import { withoutSecrets } from "../base/redact-secrets.ts";

/** How many characters (code points) of a client's text are quoted at most. */
const quotedCharactersMax = 64;

/** JSON leaves these as they are, but they are invisible or reorder text: controls, formats, separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * `text` as a JSON string. Keys are masked; invisible characters and lone surrogates are escaped. Longer text is cut
 * between two characters, and three dots follow the quotation.
 */
export function quote(text: string): string {
  const masked = withoutSecrets(text); // Before the cut, which could leave most of a key.
  // The first slice has enough of them: a code point has at most two code units.
  const cut = [...masked.slice(0, 2 * quotedCharactersMax)].slice(0, quotedCharactersMax).join("");
  const quoted = JSON.stringify(cut).replace(invisible, escapeUnits);
  return cut.length < masked.length ? `${quoted}...` : quoted;
}

/** Each UTF-16 code unit as `\uXXXX` (RFC 8259, 7). */
function escapeUnits(character: string): string {
  let escaped = "";
  for (let index = 0; index < character.length; index += 1) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
