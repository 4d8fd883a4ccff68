/**
 * The part of Markdown that the description uses. It is read into plain values, never into markup: what is not
 * understood stays text.
 */

/** Kinds are the names of the elements that show them. */
export interface Inline {
  readonly kind: "span" | "code";
  readonly text: string;
}

export type Line = readonly Inline[];

export type Block =
  | { readonly kind: "h3" | "p"; readonly line: Line }
  | { readonly kind: "table"; readonly head: readonly Line[]; readonly rows: readonly (readonly Line[])[] };

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
  if (/^\|.*\n\|[-:| ]+(\n|$)/.test(part)) {
    const [head = [], , ...rows] = part.split("\n").map(readCells);
    return { kind: "table", head, rows };
  }
  return { kind: "p", line: readInline(part) };
}

function readCells(row: string): readonly Line[] {
  const cells = row.trim().slice(1).replace(/\|$/, "").split(/(?<!\\)\|/);
  return cells.map((cell) => readInline(cell.trim()));
}
