/**
 * Containers often have no IPv6.
 */

import { networkInterfaces } from "node:os";

export const hasIpv6Loopback: boolean = Object.values(networkInterfaces()).some((ones) => ones?.some(({ address }) => address === "::1"));
