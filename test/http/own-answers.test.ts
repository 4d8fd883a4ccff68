/** A store of the program's own that answers outside of its interface: each method, each wrong answer. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { PetStore } from "../../src/pets/pet-store.ts";
import { runningService } from "../support/running-service.ts";

const json = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}';
const nothing: readonly unknown[] = [undefined, null, 0, "", true, [], {}, Symbol("wrong"), Promise.resolve(7)];
const noIds: readonly unknown[] = [0, -1, 1.5, Number.NaN, "1", "1\r\nX: y", {}, 2 ** 53, null];
const noTexts: readonly unknown[] = [undefined, null, 5, {}, [json], new ArrayBuffer(3)];

const wrongRefusals: readonly unknown[] = [undefined, null, "lost", "sold\r\nX: y", "removed", 5].map((status) => {
  return { kind: "mismatch", status };
});

/** What each method answers wrongly. What is thrown is an answer too. */
const wrongAnswers: Readonly<Record<"add" | "changeStatus" | "remove" | "get" | "list", readonly unknown[]>> = {
  add: [...nothing, ...noIds.map((id) => ({ id, json })), ...noTexts.map((text) => ({ id: 1, json: text }))],
  changeStatus: [
    ...nothing,
    ...["lost", undefined, null, 5, "constructor"].map((kind) => ({ kind, json })),
    ...noTexts.map((text) => ({ kind: "changed", json: text })),
    ...wrongRefusals,
  ],
  remove: [...nothing, ...["lost", undefined, null, 5, "changed"].map((kind) => ({ kind, json })), ...wrongRefusals],
  get: [...nothing.filter((one) => one !== undefined && one !== ""), ...noTexts.slice(2)],
  list: [
    ...nothing,
    ...noTexts.map((text) => ({ json: text, nextAfter: undefined })),
    ...[-1, 1.5, "1", "1>\r\nX: y", {}, true].map((nextAfter) => ({ json: "[]", nextAfter })),
  ],
};

const requests = {
  add: { method: "POST", path: "/pets", body: '{"name":"Rex","categoryId":1}' },
  changeStatus: { method: "PATCH", path: "/pets/1", body: '{"status":"sold"}' },
  remove: { method: "DELETE", path: "/pets/1" },
  get: { method: "GET", path: "/pets/1" },
  list: { method: "GET", path: "/pets" },
} as const;

const ways: Readonly<Record<string, (answer: unknown) => unknown>> = {
  "answered at once": (answer) => answer,
  "resolved": async (answer) => answer,
  "rejected": (answer) => Promise.reject(answer),
  "thrown": (answer) => {
    throw answer;
  },
};

for (const method of Object.keys(requests) as (keyof typeof requests)[]) {
  for (const [way, give] of Object.entries(ways)) {
    test(`what ${method}() of a store must not answer, ${way}, is a 500 that is reported, and the connection goes on`, async (context) => {
      let answer: unknown;
      const right: Record<keyof PetStore, unknown> = {
        add: async () => ({ id: 1, json }),
        changeStatus: async () => ({ kind: "changed", json }),
        remove: async () => ({ kind: "removed" }),
        get: () => json,
        list: () => ({ json: "[]", nextAfter: undefined }),
        isWritable: () => true,
        close: async () => undefined,
      };
      const store = { ...right, [method]: () => give(answer) } as unknown as PetStore;
      const { port, key, reports, service } = await runningService(context, { options: { store } });
      const { path, ...init } = { body: null, ...requests[method] };
      const headers = { Authorization: `Bearer ${key}`, "If-Match": "*", "Content-Type": "application/json" };
      for (const wrong of wrongAnswers[method]) {
        answer = wrong;
        const before = reports.length;
        const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, { ...init, headers });
        const shown = `${typeof wrong}: ${typeof wrong === "object" ? JSON.stringify(wrong) : String(wrong)}`;
        assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [500, "internal_error"], shown);
        assert.equal(reports.length, before + 1, shown);
        assert.equal(response.headers.get("X"), null);
      }
      const calls = { add: () => service.pets.add({ name: "Rex", categoryId: 1 }), get: () => undefined, list: () => service.pets.list() };
      const from = "sold";
      const changes = { changeStatus: () => service.pets.changeStatus(1, "sold", { from }), remove: () => service.pets.remove(1, { from }) };
      const call = { ...calls, ...changes }[method];
      answer = undefined;
      await (way === "resolved" && method !== "get" && assert.rejects(async () => call(), TypeError));
    });
  }
}

test("a store whose isWritable() throws makes /healthz a 500 that is reported", async (context) => {
  const store = {
    add: async () => ({ id: 1, json }),
    get: () => json,
    list: () => ({ json: "[]", nextAfter: undefined }),
    isWritable: () => {
      throw new Error("the embedder's own");
    },
    close: async () => undefined,
  };
  const { port, reports } = await runningService(context, { options: { store } });
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 500);
  assert.equal(reports.length, 1);
});
