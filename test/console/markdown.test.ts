import assert from "node:assert/strict";
import { test } from "node:test";

import { readInline, readMarkdown } from "../../src/console/markdown.ts";

const span = (text: string): { kind: "span"; text: string } => ({ kind: "span", text });
const code = (text: string): { kind: "code"; text: string } => ({ kind: "code", text });

test("readMarkdown() reads headings and paragraphs, and leaves tables as they are written", () => {
  const table = "| plan | `a` |\n|---|:-:|\n| free | 60 \\| 61 |";
  assert.deepEqual(readMarkdown(`One\nline.\n\n## Rate limits\nText\n\n${table}\n\nEnd`), [
    { kind: "p", text: "One\nline." },
    { kind: "h3", text: "Rate limits" },
    { kind: "p", text: "Text" },
    { kind: "pre", text: table },
    { kind: "p", text: "End" },
  ]);
});

test("readInline() reads code, and makes one line of several", () => {
  assert.deepEqual(readInline("a\nb `c <i>` d"), [span("a b "), code("c <i>"), span(" d")]);
});

test("readMarkdown() leaves markup, links and other unknown syntax as text", () => {
  const hostile = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://e.example/z) <b onclick=x>";
  assert.deepEqual(readInline(hostile), [span(hostile)]);
  assert.deepEqual(readMarkdown(hostile), [{ kind: "p", text: hostile }]);
});

test("readMarkdown() returns nothing for an empty text", () => {
  assert.deepEqual(readMarkdown(" \n\n "), []);
});
