/**
 * Whether tests of IPv6 can run: containers often have none.
 */

import { networkInterfaces } from "node:os";

export const hasIpv6Loopback: boolean = Object.values(networkInterfaces()).some((ones) => ones?.some(({ address }) => address === "::1"));
