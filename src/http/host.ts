/**
 * The syntax of a host with an optional port.
 */

import { isIPv6 } from "node:net";

/**
 *     Host     = uri-host [ ":" port ]                                                        RFC 9110, 7.2
 *     host     = "[" ( IPv6address / IPvFuture ) "]" / IPv4address / reg-name                 RFC 3986, 3.2.2
 *     reg-name = *( unreserved / pct-encoded / sub-delims )
 *
 * An IPv4address is a reg-name too, and a reg-name may be empty. RFC 9112, 3.2 asks clients for an empty Host if the
 * target has no authority; 3.3 lets a server use a default for it. This service accepts it: nothing depends on Host.
 */
const namePattern = /^(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::[0-9]*)?$/;
const literalPattern = /^\[(?:([0-9A-Fa-f:.]+)|v[0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\](?::[0-9]*)?$/;

export function isHost(host: string): boolean {
  if (namePattern.test(host)) {
    return true;
  }
  const literal = literalPattern.exec(host);
  return literal !== null && (literal[1] === undefined || isIPv6(literal[1]));
}
