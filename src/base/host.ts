import { isIPv6 } from "node:net";

/** reg-name [ ":" port ]. An IPv4address is a reg-name too. */
const namePattern = /^(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::[0-9]*)?$/;
/** "[" ( IPv6address / IPvFuture ) "]" [ ":" port ] */
const literalPattern = /^\[(?:([0-9A-Fa-f:.]+)|v[0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\](?::[0-9]*)?$/;

/**
 * Whether the text is a host with an optional port (RFC 9110, 7.2, and RFC 3986, 3.2.2). An empty text is one: RFC
 * 9112, 3.2 asks clients to send it if the target has no authority.
 */
export function isHost(host: string): boolean {
  if (namePattern.test(host)) {
    return true;
  }
  const literal = literalPattern.exec(host);
  return literal !== null && (literal[1] === undefined || isIPv6(literal[1]));
}
