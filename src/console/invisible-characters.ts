/**
 * Text from outside, split so that no character of it hides. A name may hold characters that print nothing, reverse
 * what follows, or look like a space; the page shows the code point of each instead.
 */

/**
 * Also Braille's blank; but neither the space nor the selector that gives a pictograph its colours, nor what joins two
 * pictographs to one sign.
 */
const joint = /(?<=\p{ExtPict}[\ufe0f\p{EMod}]?)\u200d(?=\p{ExtPict})|(?<=\p{ExtPict})\ufe0f/u.source;
const invisibleCharacters = new RegExp(`((?!${joint})[\\p{C}\\p{DI}\\p{Zl}\\p{Zp}\\u2800]|(?! )\\p{Zs})`, "u");

/** Parts of the text: those at even indexes are plain, those at odd indexes are code points as "U+202E". */
export function markInvisible(text: string): readonly string[] {
  return text.split(invisibleCharacters).map((part, index) => (index % 2 === 0 ? part : codePoint(part)));
}

/** The same JSON, with each hidden character as an escape. */
export function escapeInvisible(json: string): string {
  return json.replace(new RegExp(invisibleCharacters, "gu"), (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${hexadecimal(character.charCodeAt(index))}`).join(""),
  );
}

function codePoint(character: string): string {
  return `U+${hexadecimal(character.codePointAt(0) ?? 0).toUpperCase()}`;
}

function hexadecimal(number: number): string {
  return number.toString(16).padStart(4, "0");
}
