/** The table of what can happen to a key: for each event the members of its line, and what it changes. */

import type { ApiKey } from "./key.ts";

interface Secret {
  /** In hexadecimal. */
  readonly sha256: string;
}

/** What each event has besides its name, its time and the key's id. */
interface Members {
  made: Pick<ApiKey, "plan" | "label" | "expiresMs" | "isReadOnly"> & Secret;
  revoked: object;
  plan: Pick<ApiKey, "plan">;
  label: Pick<ApiKey, "label">;
  expiry: Pick<ApiKey, "expiresMs">;
  rotated: Secret & { readonly graceUntilMs: number };
  unbanned: object;
  reset: object;
}

type EventBase<Name> = { readonly event: Name; readonly timeMs: number; readonly id: string };
type EventOf<Name extends keyof Members> = EventBase<Name> & Members[Name];
export type KeyEvent = { [Name in keyof Members]: EventOf<Name> }[keyof Members];
/** The limiter's method that an event calls for its key, which may then send requests again. */
export type Lift = "unban" | "reset";

interface EventKind<Name extends keyof Members> {
  /** For messages. */
  readonly verb: string;
  readonly members: readonly (keyof Members[Name])[];
  /** What is different about the key afterwards. */
  change(event: EventOf<Name>, key: ApiKey): Partial<ApiKey>;
  /** When the key's earlier secrets end; absent if they stay valid. */
  secretsEndMs?(event: EventOf<Name>): number;
  /** True if the event sets a state: it is not written if the key has that state already. */
  readonly isState?: boolean;
  readonly lifts?: Lift;
}

export const keyEvents: { readonly [Name in keyof Members]: EventKind<Name> } = {
  made: {
    verb: "create",
    members: ["sha256", "plan", "label", "expiresMs", "isReadOnly"],
    change: ({ id, timeMs, plan, label, expiresMs, isReadOnly }) =>
      ({ id, plan, label, isReadOnly, createdMs: timeMs, expiresMs }),
  },
  revoked: {
    verb: "revoke",
    members: [],
    change: ({ timeMs }, key) => ({ revokedMs: key.revokedMs ?? timeMs }),
    secretsEndMs: ({ timeMs }) => timeMs,
    isState: true,
  },
  plan: { verb: "change", members: ["plan"], change: ({ plan }) => ({ plan }), isState: true },
  label: { verb: "label", members: ["label"], change: ({ label }) => ({ label }), isState: true },
  expiry: { verb: "expire", members: ["expiresMs"], change: ({ expiresMs }) => ({ expiresMs }), isState: true },
  rotated: {
    verb: "rotate",
    members: ["sha256", "graceUntilMs"],
    change: ({ graceUntilMs, timeMs }) => ({ graceUntilMs: graceUntilMs > timeMs ? graceUntilMs : undefined }),
    secretsEndMs: ({ graceUntilMs }) => graceUntilMs,
  },
  unbanned: { verb: "unban", members: [], lifts: "unban", change: () => ({}) },
  reset: { verb: "reset", members: [], lifts: "reset", change: () => ({}) },
};

/** The row of an event. The table's type makes sure that it fits. */
export function kindOf(event: KeyEvent): EventKind<keyof Members> {
  return keyEvents[event.event] as EventKind<keyof Members>;
}
