import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";

import { locate } from "../../src/request/mount.ts";

interface Row {
  readonly basePath: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly place: readonly [target: string, prefix: string] | undefined;
}

const key = `as_${"k".repeat(43)}`;

const rows: readonly Row[] = [
  { basePath: "/v1", url: "/v1/pets?limit=1", place: ["/v1/pets?limit=1", ""] },
  { basePath: "/v1", url: "/v1", place: ["/v1", ""] },
  { basePath: "/v1", url: "/v1?limit=1", place: ["/v1?limit=1", ""] },
  { basePath: "/v1", url: "/v10/pets", place: undefined },
  { basePath: "/v1", url: "/pets", place: undefined },
  { basePath: "/v1", url: "http://a.example/v1/pets", place: ["/v1/pets", ""] },
  // Mounted at the base path itself: the framework cuts it off.
  { basePath: "/v1", url: "/pets", originalUrl: "/v1/pets", place: ["/v1/pets", ""] },
  // Mounted below a prefix.
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/shop/v1/pets", place: ["/v1/pets", "/shop"] },
  { basePath: "/shop/v1", url: "/v1/pets", originalUrl: "/shop/v1/pets", place: ["/shop/v1/pets", ""] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/@acme/a:b(c)/v1/pets", place: ["/v1/pets", "/@acme/a:b(c)"] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/%20!$&'*+,;=/v1/pets", place: ["/v1/pets", "/%20!$&'*+,;="] },
  // A prefix that begins with the base path.
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/v1/shop/v1/pets", place: ["/v1/pets", "/v1/shop"] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/v1/v1/pets", place: ["/v1/pets", "/v1"] },
  { basePath: "/v1", url: "/v1", originalUrl: "/v1/v1", place: ["/v1", "/v1"] },
  // A prefix that must not become part of a link.
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/a>b/v1/pets", place: ["/v1/pets", ""] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: "//other.example/v1/pets", place: ["/v1/pets", ""] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: `/${key}/v1/pets`, place: ["/v1/pets", ""] },
  // A url that was rewritten rather than cut.
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/animals/of/the/shop", place: ["/v1/pets", ""] },
  { basePath: "/v1", url: "/v1/pets", originalUrl: "/v1/animals", place: ["/v1/animals", ""] },
  { basePath: "/v1", url: "/other", originalUrl: "/v1/pets", place: ["/v1/pets", ""] },
];

test("locate() finds the API below any prefix that a framework cut off", () => {
  for (const { basePath, url, originalUrl, place } of rows) {
    // Only these two members are read.
    const incoming = { url, ...(originalUrl === undefined ? {} : { originalUrl }) } as IncomingMessage;
    const [target, prefix] = place ?? [];
    const expected = place === undefined ? undefined : { target, prefix };
    assert.deepEqual(locate(incoming, basePath), expected, `${basePath} ${url} ${originalUrl}`);
  }
});
