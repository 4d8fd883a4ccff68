/**
 * The part of Markdown that the description uses. It is read into plain values, never into markup: what is not
 * understood stays text. A table, which can be read as it is written, stays text too.
 */

/** Kinds are the names of the elements that show them. */
interface Piece<Kind extends string> {
  readonly kind: Kind;
  readonly text: string;
}

export function readMarkdown(text: string): readonly Piece<"h3" | "p" | "pre">[] {
  const parts = text.replace(/^#+ .*$/gm, "\n$&\n").split(/\n\s*\n/);
  return parts.map((part) => part.trim()).filter(Boolean).map((part) => ({
    kind: part.startsWith("#") ? "h3" : part.startsWith("|") ? "pre" : "p",
    text: part.replace(/^#+ /, ""),
  }));
}

/** Reads what a heading or a paragraph has, in one line. */
export function readInline(text: string): readonly Piece<"span" | "code">[] {
  const parts = text.replace(/\s+/g, " ").split(/`([^`]+)`/);
  return parts.map((part, index) => ({ kind: index % 2 === 0 ? "span" : "code", text: part }));
}
