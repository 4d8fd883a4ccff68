/** The example of each operation, from which its `curl` line is made. */

import { type CallRequest, json } from "./call-request.ts";

export interface Example extends Pick<CallRequest, "fields" | "content"> {
  /** Below the address of the API. */
  readonly target: string;
}

/** By `operationId`. The tests run each of them. */
export const examples: Readonly<Record<string, Example>> = {
  listPets: { target: "/pets?limit=2&status=available" },
  createPet: { target: "/pets", fields: json, content: '{"name":"Rex","categoryId":5}' },
  getPet: { target: "/pets/1" },
  changeStatus: {
    target: "/pets/1",
    fields: { ...json, "If-Match": '"available"' },
    content: '{"status":"pending"}',
  },
  removePet: { target: "/pets/2", fields: { "If-Match": '"available"' } },
  getLimits: { target: "/limits" },
};
