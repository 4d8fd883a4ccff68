/**
 * Which states animals may have after changes, corrections and removals that went on at once, and which tags were given.
 *
 * The model does not know the order of the changes of a round. So each animal has a set of possible states: those that
 * some order leaves in which every change that succeeded found a state that it allows and left the one in its result,
 * and every one that was refused found the tag in its refusal. A change without a result may have happened in that order
 * or not. When a reader sees a state, it is the only possible one, and its tag belongs to it for ever.
 */

import assert from "node:assert/strict";

import type { NewPet, PetChange, PetStatus } from "../../src/pets/pet.ts";

/** Its tag and its text, such as `sold-2 {"id":1,…,"status":"sold"}`; or `removed`. */
export type State = string;

/** "unknown": it has no result yet, or will never have one. "absent": it has not happened, and never will. */
export type Outcome =
  | { readonly kind: "unknown" | "absent" }
  | { readonly kind: "changed"; readonly state: State }
  | { readonly kind: "mismatch"; readonly tag: string };

/** A change, or a removal, of an animal that has one of the statuses or tags. */
export interface Attempted {
  readonly match: readonly string[];
  readonly change: PetChange | "removal";
  readonly hash: string | undefined;
}

export function isByTag({ match }: Attempted): boolean {
  return match.length > 0 && match.every((one) => one.includes("-"));
}

/** A change of the animal, with what became of it so far. */
export interface Attempt {
  readonly id: number;
  readonly attempted: Attempted;
  outcome: Outcome;
}

export class StateModel {
  /** By id - 1. */
  readonly #possible: ReadonlySet<State>[] = [];
  /** By id - 1: the state of each tag that a client was told. */
  readonly #told: Map<string, State>[] = [];
  /** Of this round. */
  #attempts: Attempt[] = [];
  /** Of this life, in earlier rounds. */
  #unknown: Attempt[] = [];

  add(id: number, state: State): void {
    this.#possible[id - 1] ??= new Set([state]);
    this.tell(id, state);
  }

  attempt(id: number, attempted: Attempted): Attempt {
    const attempt: Attempt = { id, attempted, outcome: { kind: "unknown" } };
    this.#attempts.push(attempt);
    return attempt;
  }

  /** All attempts are settled. Readers see none that is unknown in this life. */
  endRound(): void {
    this.#settle(this.#attempts.filter(({ outcome }) => outcome.kind !== "unknown"));
    this.#unknown.push(...this.#attempts.filter(({ outcome }) => outcome.kind === "unknown"));
    this.#attempts = [];
  }

  /** The process has ended: what is unknown may have happened. */
  endLife(): void {
    this.#settle([...this.#attempts, ...this.#unknown]);
    this.#attempts = [];
    this.#unknown = [];
  }

  see(id: number, state: State): void {
    const possible = this.#possible[id - 1] ?? new Set();
    assert.ok(possible.has(state), `animal ${id} is ${state}, but can only be ${[...possible].join(" or ")}`);
    this.#possible[id - 1] = new Set([state]);
    this.tell(id, state);
  }

  /** A client was told that the animal has, or had, the state. */
  tell(id: number, state: State): void {
    const told = (this.#told[id - 1] ??= new Map());
    assert.equal(told.get(tagOf(state)) ?? state, state, "a tag is given to two states");
    told.set(tagOf(state), state);
  }

  /** The tags that clients know of the animal, the newest last. */
  tagsOf(id: number): string[] {
    return [...(this.#told[id - 1]?.keys() ?? [])];
  }

  #settle(attempts: readonly Attempt[]): void {
    for (const id of new Set(attempts.map((attempt) => attempt.id))) {
      const own = attempts.filter((attempt) => attempt.id === id && attempt.outcome.kind !== "absent");
      const before = this.#possible[id - 1] ?? new Set();
      const after = statesAfter(before, own);
      const told = own.map(({ attempted: { match, change }, outcome }) => {
        const wanted = JSON.stringify(change, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));
        return `${match.join("|")} to ${wanted}: ${JSON.stringify(outcome)}`;
      });
      assert.ok(after.size > 0, `no order explains what happened to animal ${id}, ${[...before].join(" or ")}: ${told.join("; ")}`);
      this.#possible[id - 1] = after;
    }
  }
}

function statesAfter(before: ReadonlySet<State>, attempts: readonly Attempt[]): Set<State> {
  const after = new Set<State>();
  const tried = new Set<string>();
  const mustHappen = attempts.reduce((bits, { outcome }, index) => (outcome.kind === "unknown" ? bits : bits | (1 << index)), 0);
  const tryFrom = (state: State, done: number): void => {
    const node = `${done} ${state}`;
    if (tried.has(node)) {
      return;
    }
    tried.add(node);
    if ((done & mustHappen) === mustHappen) {
      after.add(state);
    }
    attempts.forEach((attempt, index) => {
      const next = done | (1 << index);
      const left = next === done ? undefined : stateAfter(attempt, state);
      if (left !== undefined) {
        tryFrom(left, next);
      }
    });
  };
  before.forEach((state) => tryFrom(state, 0));
  return after;
}

/** What the attempt leaves of an animal in the state; undefined if its outcome says that it found another one. */
function stateAfter({ attempted, outcome }: Attempt, state: State): State | undefined {
  const isAllowed = state !== "removed" && attempted.match.some((one) => one === tagOf(state) || one === statusOf(state));
  if (outcome.kind === "mismatch") {
    return !isAllowed && outcome.tag === tagOf(state) ? state : undefined;
  }
  const left = isAllowed ? changed(state, attempted) : undefined;
  return outcome.kind === "changed" && outcome.state !== left ? undefined : left;
}

/** A change that changes nothing makes a version only with a hash. */
function changed(state: State, { change, hash }: Attempted): State {
  if (change === "removal") {
    return "removed";
  }
  const text = withValues(textOf(state), change);
  const version = Number(/-(\d+)/.exec(state)?.[1]) + (text === textOf(state) && hash === undefined ? 0 : 1);
  return stateOf(text, version);
}

/** No category in a history is beyond what a number holds. */
export function withValues(text: string, { name, categoryId, status }: PetChange): string {
  const pet = JSON.parse(text) as { name: string; categoryId: number; status: PetStatus }; // The store's own JSON.
  pet.name = name ?? pet.name;
  pet.categoryId = Number(categoryId ?? pet.categoryId);
  pet.status = status ?? pet.status;
  return JSON.stringify(pet);
}

/** The text of an animal that is added. */
export function textOfNew(id: number, { name, categoryId, status }: NewPet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

export function stateOf(text: string, version: number): State {
  return `${/(\w+)"\}$/.exec(text)?.[1]}-${version} ${text}`;
}

export function textOf(state: State): string {
  return state.slice(state.indexOf(" ") + 1);
}

export function tagOf(state: State): string {
  return /^\S+/.exec(state)?.[0] ?? "";
}

function statusOf(state: State): string {
  return /^\w+/.exec(state)?.[0] ?? "";
}
