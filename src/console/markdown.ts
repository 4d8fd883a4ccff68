/**
 * The part of Markdown that the description uses. It is read into plain values, never into markup: what is not
 * understood stays text. A table, which can be read as it is written, stays text too.
 */

/** Kinds are the names of the elements that show them. */
export interface Inline {
  readonly kind: "span" | "code";
  readonly text: string;
}

export type Line = readonly Inline[];

/** Kinds are as above. */
export interface Block {
  readonly kind: "h3" | "p" | "pre";
  readonly line: Line;
}

export function readMarkdown(text: string): readonly Block[] {
  const parts = text.replace(/^#+ .*$/gm, "\n$&\n").split(/\n\s*\n/);
  return parts.map((part) => part.trim()).filter(Boolean).map(readBlock);
}

export function readInline(text: string): Line {
  const parts = text.replace(/\s+/g, " ").split(/(`[^`]+`|\\[!-/:-@[-`{-~])/);
  return parts
    .filter(Boolean)
    .map((part) =>
      /^`.+`$/.test(part)
        ? { kind: "code", text: part.slice(1, -1) }
        : { kind: "span", text: part.replace(/^\\(?=.$)/, "") },
    );
}

function readBlock(part: string): Block {
  if (part.startsWith("#")) {
    return { kind: "h3", line: readInline(part.replace(/^#+ /, "")) };
  }
  return part.startsWith("|")
    ? { kind: "pre", line: [{ kind: "span", text: part }] }
    : { kind: "p", line: readInline(part) };
}
