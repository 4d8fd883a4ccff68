import assert from "node:assert/strict";
import { test } from "node:test";

import { readInline, readMarkdown } from "../../src/console/markdown.ts";

const span = (text: string): { kind: "span"; text: string } => ({ kind: "span", text });
const code = (text: string): { kind: "code"; text: string } => ({ kind: "code", text });

test("readMarkdown() reads headings and paragraphs, and leaves tables as they are written", () => {
  const table = "| plan | `a` |\n|---|:-:|\n| free | 60 \\| 61 |";
  assert.deepEqual(readMarkdown(`One\nline.\n\n## Rate limits\nText\n\n${table}\n\nEnd`), [
    { kind: "p", line: [span("One line.")] },
    { kind: "h3", line: [span("Rate limits")] },
    { kind: "p", line: [span("Text")] },
    { kind: "pre", line: [span(table)] },
    { kind: "p", line: [span("End")] },
  ]);
});

test("readInline() reads code and escapes", () => {
  assert.deepEqual(readInline("a `b <i>` \\<c> \\d"), [span("a "), code("b <i>"), span(" "), span("<"), span("c> \\d")]);
});

test("readMarkdown() leaves markup, links and other unknown syntax as text", () => {
  const hostile = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://e.example/z) <b onclick=x>";
  assert.deepEqual(readMarkdown(hostile), [{ kind: "p", line: [span(hostile)] }]);
});

test("readMarkdown() returns nothing for an empty text", () => {
  assert.deepEqual(readMarkdown(" \n\n "), []);
});
