/**
 * Flags and start of a peer, the same for all: `node PEER.js --data DIR --animals FILE --keys KEY=QUOTA,…`.
 */
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { data: { type: "string" }, animals: { type: "string" }, keys: { type: "string" } },
});

/** What the service has as well: both windows, with the same quota here. */
export const minuteMs = 60_000;
export const dayMs = 86_400_000;

export const dataFolder = values.data ?? ".";
/** JSON lines of NewPet, imported before the peer listens. */
export const animalsFile = values.animals ?? "";
/** Requests a window, by bearer token. */
export const quotas = new Map(
  (values.keys ?? "").split(",").map((pair) => {
    const [key = "", quota] = pair.split("=");
    return [key, Number(quota)];
  }),
);

/** Quota by the value of the Authorization field, for limiters that run after authentication. */
export const quotasByField = new Map([...quotas].map(([key, quota]) => [`Bearer ${key}`, quota]));

/** @param {number} port */
export function sayListening(port) {
  console.log(`listening on http://127.0.0.1:${port}/v1`);
}

process.on("SIGTERM", () => process.exit(0));
