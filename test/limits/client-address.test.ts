import assert from "node:assert/strict";
import { test } from "node:test";

import { clientAddress } from "../../src/limits/client-address.ts";

/** Address of the socket -> name of the window. */
const sockets: ReadonlyMap<string | undefined, string> = new Map([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:0201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:c000:201", "192.0.2.1"],
  ["0::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3::192.0.2.1", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["::192.0.2.1", "0:0:0:0::/64"],
  ["::1:ffff:192.0.2.1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::ffff:192.0.2.1%2", "192.0.2.1"],
  [undefined, "unknown"],
]);

for (const [socket, window] of sockets) {
  test(`clientAddress() of the socket ${socket ?? "that is closed"} is ${window}`, () => {
    assert.equal(clientAddress(socket, undefined, 0), window);
  });
}

/** X-Forwarded-For and how many proxies are trusted -> the window, with the socket 10.0.0.1. */
const forwarded: readonly (readonly [field: string, trustedProxyCount: number, window: string, why: string])[] = [
  ["192.0.2.1", 0, "10.0.0.1", "no proxy is trusted"],
  ["192.0.2.1", 1, "192.0.2.1", "the only proxy wrote it"],
  ["198.51.100.9, 192.0.2.1", 1, "192.0.2.1", "the left one is the client's own invention"],
  ["198.51.100.9, 192.0.2.1, 10.0.0.2", 2, "192.0.2.1", "the outer of two proxies wrote it"],
  ["192.0.2.1,10.0.0.2", 2, "192.0.2.1", "white space may be missing"],
  ["\t192.0.2.1 ,\t10.0.0.2 ", 2, "192.0.2.1", "white space may be anywhere"],
  ["192.0.2.10", 2, "192.0.2.10", "the list is shorter: the nearest hop that is known"],
  ["10.0.0.2", 1_000_000_000, "10.0.0.2", "the list is shorter, however many are trusted"],
  ["", 1, "10.0.0.1", "it is empty"],
  [",", 2, "10.0.0.1", "its elements are empty"],
  [",10.0.0.2", 2, "10.0.0.2", "its left element is empty"],
  ["nonsense", 1, "10.0.0.1", "it is no address"],
  ["192.0.2.1, unknown, 10.0.0.2", 3, "10.0.0.2", "nothing is believed left of nonsense"],
  ["192.0.2.256", 1, "10.0.0.1", "256 is no byte"],
  ["192.0.2.01", 1, "10.0.0.1", "a leading zero may mean octal"],
  ["192.0.2", 1, "10.0.0.1", "a byte is missing"],
  ["2001:db8::1::2", 1, "10.0.0.1", ":: may stand once"],
  ["2001:db8:1:2:3:4:5", 1, "10.0.0.1", "a group is missing"],
  ["12345::", 1, "10.0.0.1", "a group has four digits at most"],
  ["192.0.2.1:8080", 1, "192.0.2.1", "a port may follow IPv4"],
  ["192.0.2.1:808080", 1, "10.0.0.1", "no port has six digits"],
  ["[2001:db8:1:2::3]:443", 1, "2001:db8:1:2::/64", "a port may follow IPv6 in brackets"],
  ["[2001:db8:1:2::3]", 1, "2001:db8:1:2::/64", "brackets alone are fine"],
  ["2001:db8:1:2::3", 1, "2001:db8:1:2::/64", "IPv6 may stand bare"],
  ["[2001:db8:1:2::3%eth0]:443", 1, "2001:db8:1:2::/64", "a zone is dropped there, too"],
  ["[::ffff:192.0.2.1]:443", 1, "192.0.2.1", "IPv4-mapped is IPv4 there, too"],
  [`${"9".repeat(16_000)}, 192.0.2.1`, 1, "192.0.2.1", "what is further left is not read"],
  [`${" ".repeat(16_000)}192.0.2.1`, 1, "10.0.0.1", "an element that long is not looked at"],
];

for (const [field, trustedProxyCount, window, why] of forwarded) {
  const shown = field.length > 40 ? `of ${field.length} characters` : JSON.stringify(field);
  test(`clientAddress() with ${trustedProxyCount} trusted and X-Forwarded-For ${shown} is ${window}: ${why}`, () => {
    assert.equal(clientAddress("10.0.0.1", field, trustedProxyCount), window);
  });
}
