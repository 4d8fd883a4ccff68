import assert from "node:assert/strict";
import { test } from "node:test";

import { readInline, readMarkdown } from "../../src/console/markdown.ts";

const span = (text: string): { kind: "span"; text: string } => ({ kind: "span", text });
const code = (text: string): { kind: "code"; text: string } => ({ kind: "code", text });

test("readMarkdown() reads headings, paragraphs and tables", () => {
  const text = "One\nline.\n\n## Rate limits\nText\n\n| plan | `a` |\n|---|:-:|\n| free | 60 \\| 61 |\n| pro | |";
  assert.deepEqual(readMarkdown(text), [
    { kind: "p", line: [span("One line.")] },
    { kind: "h3", line: [span("Rate limits")] },
    { kind: "p", line: [span("Text")] },
    {
      kind: "table",
      head: [[span("plan")], [code("a")]],
      rows: [
        [[span("free")], [span("60 "), span("|"), span(" 61")]],
        [[span("pro")], []],
      ],
    },
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
