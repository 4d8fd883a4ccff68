/**
 * Which statuses animals may have, or whether they may be removed, after changes that went on at once.
 *
 * The model does not know the order of the changes of a round. So each animal has a set of possible statuses: those that
 * some order leaves in which every change that succeeded found one of the statuses that it allows, and every one that
 * was refused found the status in its refusal. A change without a result may have happened in that order or not. When a
 * reader sees a status, it is the only possible one.
 */

import assert from "node:assert/strict";

import type { StatusChange } from "../../src/pets/pet-store.ts";
import type { PetStatus } from "../../src/pets/pet.ts";

/** A removal is a change after which nothing finds one of its statuses. */
export type State = PetStatus | "removed";

/** "unknown": it has no result yet, or will never have one. "absent": it has not happened, and never will. */
export type Outcome =
  | { readonly kind: "changed" | "unknown" | "absent" }
  | { readonly kind: "mismatch"; readonly status: State };

/** As a `StatusChange`, or a removal. */
export interface Attempted extends Pick<StatusChange, "from"> {
  readonly status: State;
}

/** A change of the animal, with what became of it so far. */
export interface Attempt {
  readonly id: number;
  readonly change: Attempted;
  outcome: Outcome;
}

export class StatusModel {
  /** By id - 1. */
  readonly #possible: ReadonlySet<State>[] = [];
  /** Of this round. */
  #attempts: Attempt[] = [];
  /** Of this life, in earlier rounds. */
  #unknown: Attempt[] = [];

  add(id: number, status: PetStatus): void {
    this.#possible[id - 1] ??= new Set([status]);
  }

  attempt(id: number, change: Attempted): Attempt {
    const attempt: Attempt = { id, change, outcome: { kind: "unknown" } };
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

  see(id: number, status: State): void {
    const possible = this.#possible[id - 1] ?? new Set();
    assert.ok(possible.has(status), `animal ${id} is ${status}, but can only be ${[...possible].join(" or ")}`);
    this.#possible[id - 1] = new Set([status]);
  }

  #settle(attempts: readonly Attempt[]): void {
    for (const id of new Set(attempts.map((attempt) => attempt.id))) {
      const own = attempts.filter((attempt) => attempt.id === id && attempt.outcome.kind !== "absent");
      const before = this.#possible[id - 1] ?? new Set();
      const after = statusesAfter(before, own);
      const told = own.map(({ change, outcome }) => `${change.from.join("|")} to ${change.status}: ${JSON.stringify(outcome)}`);
      assert.ok(after.size > 0, `no order explains what happened to animal ${id}, ${[...before].join(" or ")}: ${told.join("; ")}`);
      this.#possible[id - 1] = after;
    }
  }
}

function statusesAfter(before: ReadonlySet<State>, attempts: readonly Attempt[]): Set<State> {
  const after = new Set<State>();
  const tried = new Set<string>();
  const mustHappen = attempts.reduce((bits, { outcome }, index) => (outcome.kind === "unknown" ? bits : bits | (1 << index)), 0);
  const tryFrom = (status: State, done: number): void => {
    const state = `${status} ${done}`;
    if (tried.has(state)) {
      return;
    }
    tried.add(state);
    if ((done & mustHappen) === mustHappen) {
      after.add(status);
    }
    attempts.forEach(({ change, outcome }, index) => {
      const next = done | (1 << index);
      if (next !== done && outcome.kind === "mismatch" && outcome.status === status && !isFrom(change, status)) {
        tryFrom(status, next);
      } else if (next !== done && outcome.kind !== "mismatch" && isFrom(change, status)) {
        tryFrom(change.status, next);
      }
    });
  };
  before.forEach((status) => tryFrom(status, 0));
  return after;
}

function isFrom({ from }: Attempted, status: State): boolean {
  return status !== "removed" && from.includes(status);
}
