/** What can happen to a key: a row says all about an event, the members of its line and what it does. */

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
/** What an event gives back to a key that has used up its limits: a method of the limiter. */
export type Lift = "unban" | "reset";

interface EventKind<Name extends keyof Members> {
  /** For messages. */
  readonly verb: string;
  readonly members: readonly (keyof Members[Name])[];
  /** What is different about the key afterwards. */
  change(event: EventOf<Name>, key: ApiKey): Partial<ApiKey>;
  /** When the secrets end that the key had before, if they do. */
  secretsEndMs?(event: EventOf<Name>): number;
  /** Whether the event sets a state: one that would change nothing is not written. */
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
  unbanned: {
    verb: "unban",
    members: [],
    lifts: "unban",
    change: (_, { grantCount }) => ({ grantCount: grantCount + 1 }),
  },
  reset: {
    verb: "reset",
    members: [],
    lifts: "reset",
    change: (_, { grantCount }) => ({ grantCount: grantCount + 1, resetNumber: grantCount + 1 }),
  },
};

/** The row of an event. The table's type makes sure that it fits. */
export function kindOf(event: KeyEvent): EventKind<keyof Members> {
  return keyEvents[event.event] as EventKind<keyof Members>;
}
