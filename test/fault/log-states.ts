/** What a reader sees of a store, and what some of the first lines of a log come to. */

import assert from "node:assert/strict";

import { type PetStatus, petStatuses } from "../../src/pets/pet.ts";
import type { JsonLinesPetStore } from "../../src/store/json-lines-pet-store.ts";
import { type State, stateOf, textOf } from "./state-model.ts";

/** The categories of all animals in a history. */
export const categories = [0n, 1n, -2n];

/** The state of each animal as a reader sees it now, ascending by id. The lists of each status and category agree with it. */
export function statesIn(store: JsonLinesPetStore): State[] {
  const list = (status?: PetStatus, categoryId?: bigint): string =>
    String(store.list({ after: 0, limit: 1_000_000, status, categoryId }).json);
  const texts = textsOf(list());
  for (const categoryId of [undefined, ...categories]) {
    for (const status of [undefined, ...petStatuses]) {
      const expected = texts.filter((text) => {
        const isOfCategory = categoryId === undefined || text.includes(`,"categoryId":${categoryId},`);
        return isOfCategory && (status === undefined || text.endsWith(`,"status":"${status}"}`));
      });
      assert.equal(list(status, categoryId), `[${expected.join()}]`, `status ${status}, category ${categoryId}`);
    }
  }
  return texts.map((text) => {
    const { json, version } = store.get(idOf(text)) ?? assert.fail(`animal ${text} is in the list only`);
    assert.equal(json, text);
    return stateOf(text, version);
  });
}

/** Fails unless the states are what some of the first lines come to. */
export function assertLinesReach(states: readonly State[], lines: string): void {
  const reached: (State | undefined)[] = [];
  const wanted: (State | undefined)[] = [];
  states.forEach((state) => (wanted[idOf(state) - 1] = state));
  let unlikeCount = states.length;
  const isUnlike = (index: number): number => (reached[index] === wanted[index] ? 0 : 1);
  const versions: number[] = [];
  for (const line of lines.split(/(?<=\n)/)) {
    if (unlikeCount === 0) {
      return;
    }
    const { id, status, version } =
      /^\{"id":(?<id>\d+),.*"status":"(?<status>\w+)"(?:,"version":(?<version>\d+))?.*\}\n$/.exec(line)?.groups ?? {};
    if (id === undefined) {
      break; // A torn end.
    }
    const index = Number(id) - 1;
    unlikeCount -= isUnlike(index);
    versions[index] = version === undefined ? (versions[index] ?? 0) + 1 : Number(version);
    const text = line.includes(',"name":')
      ? line.replace(/,"(version|line|group)":\d+,.*\n/, "}")
      : textOf(reached[index] ?? "").replace(/\w+"\}$/, `${status}"}`);
    reached[index] = status === "removed" ? undefined : stateOf(text, versions[index]);
    unlikeCount += isUnlike(index);
  }
  assert.equal(unlikeCount, 0, `a reader sees [${states.join()}] before it is durable: ${reached.join()}`);
}

export function idOf(text: string): number {
  return Number(/\{"id":(\d+)/.exec(text)?.[1]);
}

function textsOf(json: string): string[] {
  // No name in a history has a brace, so this is where one animal ends and the next begins.
  return json === "[]" ? [] : json.slice(1, -1).split(/(?<=\}),(?=\{)/);
}
