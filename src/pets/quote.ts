/**
 * Text of a client, made fit to stand in a message to the client: bounded, on one line, well-formed.
 */

/** So many characters (code points) of a client's text are quoted at most (contract, section 3). */
export const quotedCharactersMax = 64;

/** What JSON leaves as it is, and a reader would not see, or see in another order: controls, formats, separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * `text` as a JSON string in which nothing is invisible and no surrogate is alone. Longer text is cut between two
 * characters, and shows it by three dots behind the quotation.
 */
export function quote(text: string): string {
  const end = endOfQuoted(text);
  const quoted = JSON.stringify(text.slice(0, end)).replace(invisible, escapeUnits);
  return end < text.length ? `${quoted}...` : quoted;
}

function endOfQuoted(text: string): number {
  let end = 0;
  for (let count = 0; count < quotedCharactersMax && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return end;
}

/** Each UTF-16 code unit as `\uXXXX` (RFC 8259, section 7). */
function escapeUnits(character: string): string {
  let escaped = "";
  for (let index = 0; index < character.length; index += 1) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
