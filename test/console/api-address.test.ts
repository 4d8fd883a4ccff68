import assert from "node:assert/strict";
import { test } from "node:test";

import { apiAddress, nextQuery, targetOf } from "../../src/console/call-request.ts";

test("apiAddress() finds the API beside the page, below any prefix that a proxy adds", () => {
  const table = [
    ["http://127.0.0.1:3000/", "/v1", "http://127.0.0.1:3000/v1"],
    ["http://127.0.0.1:3000/", "/shop/v1", "http://127.0.0.1:3000/shop/v1"],
    ["https://a.example/tools/", "/v1", "https://a.example/tools/v1"],
    ["https://a.example/tools/?x=/y/#z", "/v1", "https://a.example/tools/v1"],
  ] as const;
  for (const [page, server, api] of table) {
    assert.equal(apiAddress(page, server), api);
  }
});

test("apiAddress() takes a public base address of its own origin as it is", () => {
  assert.equal(apiAddress("https://a.example/", "https://a.example/shop/v1"), "https://a.example/shop/v1");
  assert.equal(apiAddress("https://a.example/shop/", "https://a.example/shop/v1"), "https://a.example/shop/v1");
});

test("apiAddress() never names another origin: only the path of its base address is used", () => {
  assert.equal(apiAddress("http://127.0.0.1:3000/", "https://a.example/shop/v1"), "http://127.0.0.1:3000/shop/v1");
  assert.equal(apiAddress("https://b.example/tools/", "https://a.example/v1"), "https://b.example/tools/v1");
  assert.equal(apiAddress("http://a.example/", "https://a.example/v1"), "http://a.example/v1");
});

test("nextQuery() takes the query of the next page, wherever the link leads", () => {
  assert.equal(nextQuery('</v1/pets?limit=2&after=2>; rel="next"'), "?limit=2&after=2");
  assert.equal(nextQuery('<https://a.example/v1/pets?after=9&status=sold>; rel="next"'), "?after=9&status=sold");
  assert.equal(nextQuery('</v1/pets>; rel="successor-version"'), undefined);
  assert.equal(nextQuery(null), undefined);
});

test("targetOf() takes paths with the API's own or without", () => {
  for (const [typed, target] of [
    ["/pets?limit=2", "/pets?limit=2"],
    [" pets ", "/pets"],
    ["", "/"],
    ["/v1/pets/7", "/pets/7"],
    ["v1/pets", "/pets"],
    ["/v10/pets", "/v10/pets"],
    ["//other.example/pets", "/other.example/pets"],
    ["http://other.example/", "/http://other.example/"],
  ] as const) {
    assert.equal(targetOf(typed, "http://a:1/v1"), target, typed);
  }
});
