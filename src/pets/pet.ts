export type PetStatus = "available" | "pending" | "sold";

export const petStatuses: readonly PetStatus[] = ["available", "pending", "sold"];

export const defaultPetStatus: PetStatus = "available";

export const nameCodePointsMax = 255;
export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/** For a store. The animals of the client, and of `service.pets`, have types of their own: client/types.ts. */
export interface NewPet {
  /** 1 to `nameCodePointsMax` code points, well-formed, without U+0000, not only white space. */
  readonly name: string;
  /** From `int64Min` to `int64Max`: exact to the last digit, which a `number` could not be. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export interface Pet extends NewPet {
  /** 1, 2, 3, … in the order of creation; never reused. */
  readonly id: number;
}

export function isPetStatus(value: unknown): value is PetStatus {
  return petStatuses.includes(value as PetStatus);
}

/** @param received what the client sent, fit for a message */
export function statusProblem(received: string): string {
  return `must be one of ${petStatuses.map((status) => `"${status}"`).join(", ")}, received ${received}`;
}

/**
 * The JSON text that a client receives, its members in the order of the specification. No other code writes it, for the
 * file and for clients.
 */
export function petToJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** Returns undefined unless it is a positive safe integer in decimal, without sign or leading zero. */
export function readPetId(segment: string): number | undefined {
  const id = /^[1-9][0-9]*$/.test(segment) ? Number(segment) : 0;
  return id > 0 && id <= Number.MAX_SAFE_INTEGER ? id : undefined;
}

/** The status in a text of `petToJson`; undefined if it is another text. */
export function statusIn(json: string | Uint8Array): PetStatus | undefined {
  const end = typeof json === "string" ? json : Buffer.from(json.subarray(-longestStatusEnd)).toString("latin1");
  return petStatuses.find((status) => end.endsWith(statusEnd(status)));
}

function statusEnd(status: PetStatus): string {
  return `,"status":"${status}"}`;
}

const longestStatusEnd = Math.max(...petStatuses.map((status) => statusEnd(status).length));
