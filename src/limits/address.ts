/**
 * Which client a request counts for: its IPv4 address, or the /64 of its IPv6 address, since a subscriber is given no
 * less than that (RFC 6177). An IPv4-mapped IPv6 address is the IPv4 address (RFC 4291, 2.5.5.2).
 */

import { isIPv4, isIPv6 } from "node:net";

/** More than an IPv6 address takes with a zone, a port and white space around: what is longer is not looked at. */
const elementCharactersMax = 100;

/**
 * The client's address as its bucket is named.
 *
 * @param socketAddress the peer of the connection; undefined once that is closed
 * @param forwardedFor the value of X-Forwarded-For, where there is one
 * @param trustedProxyCount how many proxies in front append to it. Each writes the address it was called from at the
 *   end, so the client's own stands that many from the right; what stands left of it may be anybody's invention.
 *   Where that place holds no address, the nearest one that a trusted proxy wrote counts, at last the socket's.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxyCount: number,
): string {
  let address = bucketName(socketAddress ?? "") ?? "unknown";
  if (forwardedFor === undefined) {
    return address;
  }
  let end = forwardedFor.length;
  for (let hop = 0; hop < trustedProxyCount && end >= 0; hop++) {
    const comma = forwardedFor.lastIndexOf(",", end - 1);
    const name = bucketName(withoutPort(forwardedFor.slice(comma + 1, end)));
    if (name === undefined) {
      break;
    }
    address = name;
    end = comma;
  }
  return address;
}

/** Undefined where the text is no address. */
function bucketName(text: string): string | undefined {
  if (isIPv4(text)) {
    return text;
  }
  const address = text.split("%", 1)[0] ?? ""; // A zone says something of our interfaces, nothing of the client.
  if (!isIPv6(address)) {
    return undefined;
  }
  const groups = expand(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}

/** The eight groups of an address that is known to be one (RFC 4291, 2.2). */
function expand(address: string): readonly number[] {
  const [left = "", right] = address.split("::");
  const leftGroups = groupsOf(left);
  const rightGroups = groupsOf(right ?? "");
  const zeros = new Array<number>(8 - leftGroups.length - rightGroups.length).fill(0);
  return [...leftGroups, ...zeros, ...rightGroups];
}

function groupsOf(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").flatMap((group) => (isIPv4(group) ? pairOf(group) : parseInt(group, 16)));
}

function pairOf(dotted: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  return [(a << 8) | b, (c << 8) | d];
}

/** `192.0.2.1:443` and `[2001:db8::1]:443`, as some proxies write them. */
function withoutPort(element: string): string {
  const text = element.length > elementCharactersMax ? "" : element.trim();
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1];
  return bracketed ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
}
