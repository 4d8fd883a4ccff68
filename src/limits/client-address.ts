/**
 * The address that a request is charged to: the client's IPv4 address, or the /64 of its IPv6 address, because a
 * subscriber gets no less than that (RFC 6177). An IPv4-mapped IPv6 address is the IPv4 address (RFC 4291, 2.5.5.2).
 */

import { isIPv4, isIPv6 } from "node:net";

/** A longer element is not read: even with a zone, a port and white space, an address is shorter. */
const elementCharactersMax = 100;

/**
 * Returns the name of the client's window.
 * @param socketAddress the peer of the connection; undefined if that is closed
 * @param trustedProxyCount how many proxies in front append to X-Forwarded-For. Each appends the address of its own
 *   client, so the client's is at that place from the right. Everything to the left of it may be forged. If that
 *   element is not an address, the next to its right counts, which a trusted proxy wrote, or else the socket's.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined = "",
  trustedProxyCount: number,
): string {
  let address = addressName(socketAddress ?? "") ?? "unknown";
  let end = forwardedFor.length;
  for (let hop = 0; hop < trustedProxyCount && end >= 0; hop++) {
    const comma = forwardedFor.lastIndexOf(",", end - 1);
    const name = addressName(withoutPort(forwardedFor.slice(comma + 1, end)));
    if (name === undefined) {
      break;
    }
    address = name;
    end = comma;
  }
  return address;
}

/** Returns undefined if the text is not an address. */
function addressName(text: string): string | undefined {
  if (isIPv4(text)) {
    return text;
  }
  const address = text.split("%", 1)[0] ?? ""; // A zone names an interface of this machine.
  if (!isIPv6(address)) {
    return undefined;
  }
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64`;
}

/** Returns the eight groups of a valid address (RFC 4291, 2.2). */
function groupsOf(address: string): readonly number[] {
  const [left = [], right = []] = address.split("::").map((half) =>
    half.split(":").filter(Boolean).flatMap((group) => (isIPv4(group) ? pairOf(group) : parseInt(group, 16))),
  );
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function pairOf(dotted: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  return [(a << 8) | b, (c << 8) | d];
}

/** Some proxies write `192.0.2.1:443` and `[2001:db8::1]:443`. */
function withoutPort(element: string): string {
  const text = element.length > elementCharactersMax ? "" : element.trim();
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1];
  return bracketed ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
}
